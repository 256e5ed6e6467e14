// Every command that talks to a service, when there is none, and when the service refuses the key.
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { runCli } from '../run-cli.ts';
import { startStandIn, type StandIn } from '../stand-in-service.ts';
import { argsOf } from './command-row.ts';
import { ROWS } from './commands.ts';

const NO_SERVICE = 'http://127.0.0.1:1';
/** A file of JSON. */
const FILE = fileURLToPath(new URL('../../../package.json', import.meta.url));
const ID = '019a0000-0000-7000-8000-000000000001';

// The service itself refuses further wrong keys after ten of them.
const holder = {} as { other: StandIn };
shareAmongTests(async (onEnd) => {
  holder.other = await startStandIn();
  onEnd(() => holder.other[Symbol.asyncDispose]());
});

/** The objects do not exist, and a command does not get to them. */
const names = new Proxy<Record<string, string>>({}, { get: (_, name) => (name === 'file' ? FILE : ID) });

const rows = ROWS.filter(({ needsNoService }) => needsNoService === undefined);

describe.concurrent.each(rows)('$line', (row) => {
  const args = argsOf(row, names);

  test('without a service names the address and the next step', async () => {
    const end = await runCli(args, { env: { HOLDFAST_URL: NO_SERVICE, HOLDFAST_API_KEY: 'some-key' } });
    expect(end).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining(NO_SERVICE) });
    expect(end.stderr).toContain('Fix: start the service');
  });

  test('with a wrong key says so, with --json as JSON on stderr', async () => {
    const end = await runCli([...args, '--json'], {
      env: { HOLDFAST_URL: holder.other.url, HOLDFAST_API_KEY: 'wrong-key' },
    });
    expect(end).toMatchObject({ code: 10, stdout: '' });
    expect(JSON.parse(end.stderr)).toMatchObject({
      code: 'unauthorized',
      exitCode: 10,
      fix: expect.stringContaining('--api-key'),
    });
  });
});
