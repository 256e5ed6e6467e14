// What the commands of agents run in.
import { z } from 'zod';
import { count, iso, text, uuid } from './fields.ts';

export const sandboxView = z.strictObject({
  mode: z
    .enum(['auto', 'required', 'off'])
    .describe('`tools.exec.sandbox` of the configuration; `off` also when there are no commands'),
  runtime: text.describe('`sandbox.runtime` of the configuration'),
  network: z.array(text).describe('The hosts that commands in the sandbox can reach; empty: none'),
  limits: z
    .strictObject({
      cpuSeconds: count.describe('Processor time of each process'),
      memoryBytes: count.describe('Memory that each process can write to'),
      processes: count.describe('Processes and threads of one command'),
      fileBytes: count.describe('The longest that a file can become'),
      tmpBytes: count.describe('How much the private `/tmp` can hold'),
    })
    .describe('What a command in the sandbox can use'),
  items: z
    .array(
      z.strictObject({
        workerId: uuid.describe('The process that runs the commands'),
        name: text.describe('The name of the process, as its locks and its log have it'),
        host: text.describe('The host on which it runs'),
        runtime: text.describe('What its sandbox is made by'),
        status: z
          .enum(['on', 'reduced', 'off', 'refused', 'unknown', 'external'])
          .describe(
            '`on`: commands run in it. `reduced`: they run in it and lack something, such as the network. `off`: outside. `refused`: it does not work, and none runs. `unknown`: not yet known, and none runs before it is. `external`: the operator states that the process runs in a container',
          ),
        reason: text.nullable().describe('Why it is not on, or what commands lack in it; null: it is on'),
        checkedAt: iso.nullable().describe('When the canary was last sent; null: never'),
      }),
    )
    .describe('The processes that run commands, as they last reported'),
});
