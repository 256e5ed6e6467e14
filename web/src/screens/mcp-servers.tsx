// MCP servers: how they answered last, the tools that agents have of them, and how what a server
// says of its tools has changed.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, exactApi } from '../api.ts';
import { namedCountText } from '../format/amounts.ts';
import { useCanAct } from '../me.ts';
import { Age, Chip, Empty, Facts, Status } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { NoData } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { JsonTree } from '../words/json-tree.tsx';

type Server = Awaited<ReturnType<typeof api.listMcpServers>>['items'][number];
type Tool = Awaited<ReturnType<typeof api.listMcpTools>>['items'][number];

/** Longer than the service waits for a worker that asks the server. */
const PROBE_MS = 50_000;

export function McpServers(): ReactElement {
  const list = useQuery({ queryKey: ['mcp', 'servers'], queryFn: () => api.listMcpServers() });
  if (list.data === undefined) return <NoData query={list} />;
  if (list.data.items.length === 0)
    return (
      <Empty>
        The configuration names no MCP server. Add one under <code>mcp.servers</code>, then restart the processes.
      </Empty>
    );
  return (
    <>
      {list.data.items.map((server) => (
        <ServerPanel key={server.name} server={server} />
      ))}
    </>
  );
}

function ServerPanel({ server }: { server: Server }): ReactElement {
  const { name, state, transport, agents, serverName, serverVersion, protocol, toolCount, leftOutCount } = server;
  const [isOpen, setOpen] = useState(false);
  const known = [serverName, serverVersion].filter((part) => part !== null).join(' ');
  const counts = `${namedCountText(toolCount, 'tool')}, ${leftOutCount} left out, ${server.changedCount} changed`;
  return (
    <Panel title={name} buttons={<ServerButtons server={server} />}>
      <Facts
        facts={{
          State: (
            <>
              <Status status={state} /> {server.since !== null && <Age at={server.since} />}
            </>
          ),
          Error: server.error !== null && <SafeText text={server.error} />,
          Runs: transport === 'stdio' ? 'as a process of each worker' : 'elsewhere, over HTTP',
          Sandbox: server.sandbox !== null && <ServerSandbox server={server} />,
          Server: known !== '' && <SafeText text={known} />,
          Protocol: protocol !== null && <SafeText text={protocol} />,
          Agents: agents === null ? 'all' : <SafeText text={agents.join(', ')} />,
          Asked: <Age at={server.checkedAt} />,
          'Not among its tools': server.unknownNames.length > 0 && <SafeText text={server.unknownNames.join(', ')} />,
        }}
      />
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>{counts}</summary>
        {isOpen && <Tools server={name} />}
      </details>
    </Panel>
  );
}

function ServerSandbox({ server: { sandbox, sandboxReason } }: { server: Server }): ReactElement {
  return (
    <>
      <Chip tone={sandbox === 'on' ? 'good' : 'warn'}>{sandbox}</Chip>{' '}
      {sandboxReason !== null && <SafeText text={sandboxReason} />}
    </>
  );
}

/** Has a worker ask the server now, and says how that ended. */
function ServerButtons({ server: { name, state } }: { server: Server }): ReactElement | null {
  const canAct = useCanAct();
  const queries = useQueryClient();
  const probe = useMutation({
    mutationFn: () => api.probeMcpServer({ server: name }, { timeoutMs: PROBE_MS }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['mcp'] }),
  });
  if (!canAct || state === 'disabled') return null;
  return (
    <>
      <Button disabled={probe.isPending} aria-label={`Probe ${name}`} onClick={() => probe.mutate()}>
        {probe.isPending ? 'Probing…' : 'Probe'}
      </Button>
      <span role="status">
        {probe.data?.state === 'connected' && `It has answered, with ${namedCountText(probe.data.toolCount, 'tool')}.`}
        {probe.data !== undefined && probe.data.state !== 'connected' && 'It has not answered.'}
      </span>
      {probe.isError && <Problem error={probe.error} />}
    </>
  );
}

function Tools({ server }: { server: string }): ReactElement {
  const list = useQuery({ queryKey: ['mcp', 'tools', server], queryFn: () => exactApi.listMcpTools({ server }) });
  if (list.data === undefined) return <NoData query={list} />;
  if (list.data.items.length === 0) return <p className="soft">It has no tool, or was never asked.</p>;
  return (
    <ul className="mcp-tools" aria-label={`Tools of ${server}`}>
      {list.data.items.map((tool) => (
        <ToolRow key={tool.name} tool={tool} />
      ))}
    </ul>
  );
}

function ToolRow({ tool }: { tool: Tool }): ReactElement {
  const { offeredAs, description, inputSchema, leftOut, change, changedAt } = tool;
  return (
    <li>
      <div className="row">
        <strong className="mono">
          <SafeText text={offeredAs} />
        </strong>
        {leftOut === null ? (
          countsOf(tool).map((count) => <Chip key={count}>{count}</Chip>)
        ) : (
          <>
            <Chip tone="warn">left out</Chip> <SafeText text={leftOut} />
          </>
        )}
      </div>
      <p>
        <SafeText text={description} />
      </p>
      {change !== null && (
        <details>
          <summary>
            It has changed{' '}
            {changedAt !== null && (
              <>
                <Age at={changedAt} />
              </>
            )}
          </summary>
          <Difference lines={change} />
        </details>
      )}
      <details>
        <summary>Its input</summary>
        <JsonTree value={inputSchema} place={`${offeredAs} input`} />
      </details>
    </li>
  );
}

/** What counts for the calls of a tool. */
function countsOf({ isReadOnly, isIdempotent, approval }: Tool): string[] {
  return [
    isReadOnly ? 'read-only' : isIdempotent ? 'idempotent' : 'never sent twice',
    ...(approval === null ? [] : [`approval: ${approval}`]),
  ];
}

/** Lines that are gone begin with `- `, new ones with `+ `. */
function Difference({ lines }: { lines: readonly string[] }): ReactElement {
  return (
    <pre className="line-difference" tabIndex={0}>
      {lines.map((line, at) => {
        const text = <SafeText text={`${line}\n`} />;
        return line.startsWith('+ ') ? <ins key={at}>{text}</ins> : <del key={at}>{text}</del>;
      })}
    </pre>
  );
}
