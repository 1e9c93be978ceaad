"""The daemon: one process per user that keeps the timeline open, hears the hooks and serves the tools.

``program`` is where it starts, ``server`` accepts, ``reception`` hears hooks, ``desk`` answers tools, ``worker`` is
the one thread that touches the timeline, ``watching`` notices that enrolled files change.
"""
