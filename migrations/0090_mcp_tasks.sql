-- Tasks of MCP servers that calls of turns wait for. A row is stored with the wait of its call, and deleted after its turn has ended.

create table holdfast.mcp_tasks (
  turn_id uuid not null,
  step integer not null,
  ordinal integer not null,
  server text not null,
  -- as the server names it
  task_id text not null,
  begun_at timestamptz not null default clock_timestamp(),
  -- the server has said that it has ended
  is_over boolean not null default false,
  primary key (turn_id, step, ordinal)
);
