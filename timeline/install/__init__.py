"""Setting Timeline up in a host: its hooks and its MCP server, put into the host's own files and taken out again.

What stands in a host's file is the user's. A change is a splice into the text that is there; it is made only where
parsing the text before and after shows that nothing but our own part differs. Which parts are ours is told by their
commands, never by their place.
"""
