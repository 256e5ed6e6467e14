// `holdfast events`: everything that happens, live, as lines.
import { EXIT } from '../cli-error.ts';
import { command, type Words } from '../command.ts';
import { watchEvents } from '../event-stream.ts';
import { interruption } from '../poll-until-end.ts';

export const words: Words = {
  events: command({
    takes: {
      session: ['--session <key>', 'only this session'],
      types: ['--types <types>', 'only these types, such as turn.started,turn.ended'],
    },
    async run(choice, api, terminal) {
      const watching = watchEvents((hooks) => api.events({ ...(choice as object), ...hooks }), {
        signal: interruption(),
        onOpen: () => terminal.note('listening; Ctrl-C ends'),
        onReconnect: () => terminal.note('the connection was lost: reconnecting'),
      });
      for await (const event of watching) {
        const { at, type, sessionKey, data } = event;
        if (terminal.isJson) terminal.jsonLine(event);
        else terminal.print(`${at ?? ''}  ${type.padEnd(18)}  ${sessionKey ?? ''}  ${JSON.stringify(data)}`);
      }
      return EXIT.interrupted;
    },
  }),
};
