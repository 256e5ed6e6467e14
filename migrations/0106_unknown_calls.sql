-- When it became known that the outcome of a tool call is not known, so that such calls can be found; and how often in a row an MCP server was not reached.

-- A column of its own: an index over the status would make each call that ends write to all indexes.
alter table holdfast.tool_calls add column unknown_at timestamptz;
alter table holdfast.mcp_servers add column failed_tries integer not null default 0;
