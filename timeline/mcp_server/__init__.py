"""The MCP server inside the daemon: the protocol runs on the official SDK, once for all sessions (docs/spec/mcp.md).

``catalogue`` lists the tools, ``answered`` is the port to whoever answers them and the bound of an answer, ``lines``
cuts the byte stream, ``session`` serves one connection, ``serving`` is the thread that holds all of them. Only
``session`` imports the SDK, which costs half a second and 50 MB; ``serving`` imports it when it is first needed.
"""
