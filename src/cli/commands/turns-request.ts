// `holdfast turns request`: the request of one model call, part by part.
import type { Schemas } from '../../client/operations.ts';
import { connectApi, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { printParts } from '../print-parts.ts';
import type { Terminal } from '../terminal.ts';

/** Prints the parts of call n; with `--json` the body as it was sent, too. */
export async function runTurnsRequest(
  { id, n }: { id: string; n: number },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).getModelRequest({ id, n });
  if (terminal.isJson) {
    terminal.json(body);
    return EXIT.ok;
  }
  printParts(body.parts, terminal.print, terminal);
  terminal.note(`${shaText(body)}; --json prints the body`);
  return EXIT.ok;
}

function shaText({ requestSha256, matches }: Schemas['ModelRequest']): string {
  if (requestSha256 === null) return 'nothing was sent';
  const verdict = matches === null ? 'cannot be compared with' : matches ? 'has' : 'does not have';
  return `this body ${verdict} the hash of what was sent, ${requestSha256.slice(0, 16)}`;
}
