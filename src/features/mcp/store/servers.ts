// What is known of MCP servers. One process at a time asks a server for its tools: the one that has
// claimed it.
import { literalQuery, viewQuery } from '../../../database/literal-query.ts';
import { insertServiceEventsSql } from '../../../kernel/events/events.ts';
import type { ListedTool, ToolDefinition } from '../rules.ts';

/** The longest that a process may take to ask a server. */
const CLAIM = '2 minutes';
/** A server that was not reached is asked again after this time, which doubles up to the second one. */
const RETRY_SECONDS = { first: 5, max: 30 };

export interface ServerInfo {
  name: string | null;
  version: string | null;
  protocol: string | null;
  /** Only for a server that is a process. */
  sandbox?: {
    isOn: boolean;
    /** Why it runs outside, or what it lacks inside. */
    reason: string | null;
    /**
     * Whether the operator has decided that it is so; absent: a version that does not know has
     * stored it.
     */
    isDecided?: boolean;
  };
}

export const noteMcpServers = literalQuery({
  name: 'note-mcp-servers',
  purpose: 'Make the servers of the configuration due.',
  locking: 'The servers, by name.',
  text: `insert into holdfast.mcp_servers (name) select unnest($names::text[]) as name order by name
on conflict (name) do update set due_at = clock_timestamp()`,
  values: (names: readonly string[]) => ({ names }),
});

const IS_DUE_SQL =
  'name = any ($names::text[]) and due_at <= statement_timestamp() and (claimed_until is null or claimed_until < statement_timestamp())';

/** SQL of whether a server is to be asked. */
export const HAS_DUE_SERVERS_SQL = `exists (select from holdfast.mcp_servers where ${IS_DUE_SQL})`;

export const claimDueMcpServers = literalQuery({
  name: 'claim-due-mcp-servers',
  purpose: 'Claim the servers that are to be asked. Answers their names.',
  locking: 'The servers, but none that another process has locked.',
  text: `with due as materialized (
  select name from holdfast.mcp_servers
  where ${IS_DUE_SQL}
  order by name for update skip locked
)
update holdfast.mcp_servers s set claimed_until = clock_timestamp() + interval '${CLAIM}', due_at = clock_timestamp() + r.every_ms * interval '1 millisecond'
from due join unnest($names::text[], $everyMs::float8[]) as r (name, every_ms) using (name)
where s.name = due.name
returning s.name`,
  values: (servers: readonly { name: string; everyMs: number }[]) => ({
    names: servers.map(({ name }) => name),
    everyMs: servers.map(({ everyMs }) => everyMs),
  }),
  answer: (rows: { name: string }[]) => rows.map(({ name }) => name),
});

export const storeMcpTools = literalQuery({
  name: 'store-mcp-tools',
  purpose: 'Store the tools that a server has now; of one that has changed, what it was before.',
  locking: 'The server, then its tools.',
  text: `with server as materialized (select name, state from holdfast.mcp_servers where name = $name for update),
listed as materialized (select * from json_to_recordset($tools::json) as l (name text, definition json, sha256 text)),
updated as (
  update holdfast.mcp_servers s set state = 'connected', error = null, failed_tries = 0, info = $info::json, tools_sha256 = $sha256,
    changed_at = case when s.state = 'connected' then s.changed_at else clock_timestamp() end,
    listed_at = clock_timestamp(), checked_at = clock_timestamp(), claimed_until = null
  from server where s.name = server.name
),
stored as (
  insert into holdfast.mcp_tools as t (server, name, definition, sha256)
  select server.name, l.name, l.definition, l.sha256 from server, listed l
  on conflict (server, name) do update set seen_at = clock_timestamp(), sha256 = excluded.sha256,
    definition = case when t.sha256 = excluded.sha256 then t.definition else excluded.definition end,
    previous = case when t.sha256 = excluded.sha256 then t.previous else t.definition end,
    changed_at = case when t.sha256 = excluded.sha256 then t.changed_at else clock_timestamp() end
),
gone as (delete from holdfast.mcp_tools t using server where t.server = server.name and not exists (select from listed l where l.name = t.name)),
events as (${insertServiceEventsSql(`server where server.state <> 'connected'`, 'mcp.connected', `'server', server.name, 'tools', (select count(*) from listed)`)})
select`,
  values: (list: {
    name: string;
    sha256: string;
    info: ServerInfo;
    tools: readonly (ListedTool & { sha256: string })[];
  }) => ({
    ...list,
    info: JSON.stringify(list.info),
    tools: JSON.stringify(list.tools),
  }),
});

export const storeMcpLoss = literalQuery({
  name: 'store-mcp-loss',
  purpose: 'Note that a server that this process has claimed was not reached. Its tools stay.',
  locking: 'The server.',
  // The claim ends with it: if the statement is sent again, the same try is not counted twice.
  text: `with server as materialized (select name, state from holdfast.mcp_servers where name = $name and claimed_until is not null for update),
updated as (
  update holdfast.mcp_servers s set state = 'lost', error = $error, failed_tries = s.failed_tries + 1,
    changed_at = case when s.state = 'lost' then s.changed_at else clock_timestamp() end,
    checked_at = clock_timestamp(), claimed_until = null, due_at = least(s.due_at,
      clock_timestamp() + least(${RETRY_SECONDS.max}, ${RETRY_SECONDS.first} * 2 ^ least(s.failed_tries, 10)) * interval '1 second')
  from server where s.name = server.name
),
events as (${insertServiceEventsSql(`server where server.state <> 'lost'`, 'mcp.lost', `'server', server.name, 'error', $error::text`)})
select`,
  values: (loss: { name: string; error: string }) => loss,
});

export const releaseMcpServer = literalQuery({
  name: 'release-mcp-server',
  purpose: 'Leave a server that was claimed to another process.',
  locking: 'The server.',
  text: `update holdfast.mcp_servers set claimed_until = null, due_at = clock_timestamp() where name = $name`,
  values: (name: string) => ({ name }),
});

export const requestMcpList = literalQuery({
  name: 'request-mcp-list',
  purpose: 'Have a server asked for its tools soon. Answers the time; null: no worker has noted the server.',
  locking: 'The server.',
  text: `update holdfast.mcp_servers set due_at = clock_timestamp() where name = $name returning clock_timestamp() as at`,
  values: (name: string) => ({ name }),
  answer: ([row]: { at: Date }[]) => row?.at ?? null,
});

export const suspectMcpServer = literalQuery({
  name: 'suspect-mcp-server',
  purpose:
    'Have a server asked for its tools soon after a call has failed. One that is known to be lost is asked anyway.',
  locking: 'The server.',
  text: `update holdfast.mcp_servers set due_at = clock_timestamp() where name = $name and state = 'connected' and due_at > clock_timestamp()`,
  values: (name: string) => ({ name }),
});

/** The tools of a server, with the version that says whether they have changed. */
export interface StoredList {
  name: string;
  version: string;
  tools: ListedTool[];
}

export const readMcpVersions = literalQuery({
  name: 'read-mcp-versions',
  purpose: 'Read whether the tools of servers have changed.',
  text: `select name, tools_sha256 as version from holdfast.mcp_servers where name = any ($names::text[]) and tools_sha256 is not null`,
  values: (names: readonly string[]) => ({ names }),
  answer: (rows: Pick<StoredList, 'name' | 'version'>[]) => rows,
});

/** How a server has answered last. */
export interface ServerState {
  name: string;
  state: 'new' | 'connected' | 'lost';
  changedAt: Date;
}

export const readMcpStates = literalQuery({
  name: 'read-mcp-states',
  purpose: 'Read how servers have answered last.',
  text: `select name, state, changed_at as "changedAt" from holdfast.mcp_servers where name = any ($names::text[])`,
  values: (names: readonly string[]) => ({ names }),
  answer: (rows: ServerState[]) => rows,
});

export const readMcpLists = literalQuery({
  name: 'read-mcp-lists',
  purpose: 'Read the tools of servers.',
  text: `select s.name, s.tools_sha256 as version, coalesce((
    select json_agg(json_build_object('name', t.name, 'definition', t.definition) order by t.name collate "C")
    from holdfast.mcp_tools t where t.server = s.name), '[]') as tools
from holdfast.mcp_servers s where s.name = any ($names::text[]) and s.tools_sha256 is not null`,
  values: (names: readonly string[]) => ({ names }),
  answer: (rows: StoredList[]) => rows,
});

/** A row of a server, for people. */
export interface ServerRow {
  name: string;
  state: 'new' | 'connected' | 'lost';
  changedAt: string;
  error: string | null;
  info: ServerInfo | null;
  listedAt: string | null;
  checkedAt: string | null;
  tools: (ListedTool & { seenAt: string; changedAt: string | null; previous: ToolDefinition | null })[];
}

export const viewMcpServers = viewQuery({
  name: 'view-mcp-servers',
  purpose: 'Read servers with their tools, for people.',
  text: `select s.name, s.state, s.changed_at as "changedAt", s.error, s.info, s.listed_at as "listedAt", s.checked_at as "checkedAt", coalesce((
    select json_agg(json_build_object('name', t.name, 'definition', t.definition, 'seenAt', t.seen_at, 'changedAt', t.changed_at,
      'previous', t.previous) order by t.name collate "C")
    from holdfast.mcp_tools t where t.server = s.name), '[]') as tools
from holdfast.mcp_servers s where s.name = any ($names::text[])`,
  values: (names: readonly string[]) => ({ names }),
  answer: (rows: ServerRow[]) => rows,
});
