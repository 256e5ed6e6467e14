// Goal: workspace files take no more of a prompt than they may, and what is cut or pending is said.
// Method: agents whose workspaces are too large, nearly too large or not set up, and the requests
// that the model server received.
import { describe, expect, test } from 'vitest';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { useService } from './rig/use-service.ts';

const holder = useService({
  config: {
    agents: {
      list: [
        { id: 'main' },
        { id: 'long' },
        { id: 'many' },
        { id: 'near' },
        { id: 'quiet', bootstrapWarning: 'off' },
        { id: 'loud', bootstrapWarning: 'always' },
        { id: 'unset' },
        { id: 'handless', tools: { deny: ['write', 'edit', 'exec'] } },
      ],
    },
    owner: { ids: ['+15551234567'], display: 'hash' },
  },
});

const LONG = 'A'.repeat(15_000) + 'Z'.repeat(15_000);
const NAMES = ['AGENTS', 'SOUL', 'TOOLS', 'IDENTITY', 'USER', 'HEARTBEAT', 'BOOTSTRAP', 'MEMORY'];

shareAmongTests(async () => {
  for (const agent of ['long', 'quiet', 'loud']) write(agent, 'AGENTS.md', LONG);
  for (const name of NAMES) write('many', `${name}.md`, name.charAt(0).repeat(20_000));
  write('near', 'AGENTS.md', 'x'.repeat(17_000));
  for (const agent of ['unset', 'handless']) write(agent, 'BOOTSTRAP.md', 'Ask for a name.');
});

function write(agent: string, name: string, content: string): string {
  return holder.service.writeFile(`../workspace-${agent}/${name}`, content);
}

describe('a workspace file over its limit', () => {
  test('keeps 70 % from its head and 20 % from its tail, with a marker between', async () => {
    const { service } = holder;
    const { request } = await service.say('agent:long:a', 'hi');
    const cut = [
      `## ${service.workspaceDir}-long/AGENTS.md`,
      'A'.repeat(14_000),
      '',
      '[...truncated, read AGENTS.md for full content...]',
      '…(truncated AGENTS.md: kept 14000+4000 chars of 30000)…',
      '',
      'Z'.repeat(4000),
    ].join('\n');
    expect(request.systemText).toContain(`${cut}\n`);
  });

  test('is warned of once in a session, in front of the prompt, and not where that is switched off', async () => {
    const { service } = holder;
    const warning =
      /^⚠️ Bootstrap budget: [^\n]+\n- AGENTS\.md: 30000 raw -> \d+ injected \(~40% removed; max\/file\)\.\n/;
    const first = (await service.say('agent:long:b', 'hi')).request.prompt;
    expect(first).toMatch(warning);
    expect(first.endsWith('\n\nhi')).toBe(true);
    expect((await service.say('agent:long:b', 'hi')).request.prompt).toBe('hi');
    expect((await service.say('agent:quiet:b', 'hi')).request.prompt).toBe('hi');
    for (let n = 1; n <= 2; n += 1) expect((await service.say('agent:loud:b', 'hi')).request.prompt).toMatch(warning);
  });

  test('is warned of when it only nearly fills its limit', async () => {
    const { prompt } = (await holder.service.say('agent:near:a', 'hi')).request;
    expect(prompt).toMatch(/^⚠️ Bootstrap budget: [^\n]+\n- AGENTS\.md: 17000 of 20000 characters \(85%\)\.\n/);
  });
});

test('all files together spend 150,000 characters at most, in the order in which they are loaded', async () => {
  const { request } = await holder.service.say('agent:many:a', 'hi');
  const shown = NAMES.map(
    (name) => new RegExp(`^${name.charAt(0)}{1000,}`, 'm').exec(request.systemText)?.[0].length ?? 0,
  );
  // MEMORY is last and has 10,000 left.
  expect(shown.slice(0, 7)).toEqual(Array.from({ length: 7 }, () => 20_000));
  expect(shown[7]).toBe(7000);
  expect(request.systemText).toContain('…(truncated MEMORY.md: kept 7000+2000 chars of 20000)…');
  expect(request.prompt).toMatch(/MEMORY\.md: 20000 raw -> \d+ injected \(~\d+% removed; max\/total\)/);
});

describe('an agent whose setup is pending', () => {
  test('is asked to carry it out, until its file is gone', async () => {
    const { service } = holder;
    const first = (await service.say('agent:unset:a', 'hi')).request;
    expect(first.prompt).toMatch(/^\[Bootstrap pending\]\n(?:[^\n]+\n){5}\nhi$/);
    expect(first.prompt).toContain('follow it now');
    expect(first.systemText).toContain('Ask for a name.');
  });

  test('is asked to name the obstacle if setup is impossible', async () => {
    const { prompt } = (await holder.service.say('agent:handless:a', 'hi')).request;
    expect(prompt).toMatch(/^\[Bootstrap pending\]\n(?:[^\n]+\n){3}\nhi$/);
    expect(prompt).toContain('cannot be carried out from this session');
  });

  test('is asked nothing in delegated work', async () => {
    const { prompt } = (await holder.service.say('agent:unset:subagent:1', 'hi')).request;
    expect(prompt).toBe('hi');
  });
});

test('an owner without a secret is shown as a plain hash', async () => {
  const { request } = await holder.service.say(holder.service.newSession(), 'hi');
  expect(request.systemText).toContain('Authorized senders: 8a59780bb8cd.');
});
