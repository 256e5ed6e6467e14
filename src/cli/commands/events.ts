// `holdfast events`: everything that happens, live, as lines.
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { watchEvents } from '../event-stream.ts';
import { interruption } from '../poll-until-end.ts';
import type { Terminal } from '../terminal.ts';

/** Prints events until Ctrl-C. */
export async function runEvents(
  options: { session?: string; types?: string },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const signal = interruption();
  const api = connectApi(flags);
  const watching = watchEvents((hooks) => api.events({ ...fromOptions(options), ...hooks }), {
    signal,
    onOpen: () => terminal.note('listening; Ctrl-C ends'),
    onReconnect: () => terminal.note('the connection was lost: reconnecting'),
  });
  for await (const event of watching) {
    if (terminal.isJson) terminal.jsonLine(event);
    else
      terminal.print(
        `${event.at ?? ''}  ${event.type.padEnd(18)}  ${event.sessionKey ?? ''}  ${JSON.stringify(event.data)}`,
      );
  }
  return EXIT.interrupted;
}
