// `holdfast sandbox`: whether the commands of agents would run in a sandbox here.
import { loadConfig } from '../../config.ts';
import { EXIT } from '../../cli/cli-error.ts';
import { localCommand, type Words } from '../../cli/command.ts';
import { describeSandbox, Sandbox } from '../../tools/sandbox/sandbox.ts';

export const words: Words = {
  sandbox: {
    check: localCommand({
      summary: 'send a canary on this machine; 1: commands would not run in a sandbox',
      async run(_input, { terminal }) {
        const config = loadConfig();
        const { exec } = config.tools;
        // Where it is switched off, whether it would work is still a question.
        const mode = exec.sandbox === 'off' ? 'auto' : exec.sandbox;
        const sandbox = new Sandbox({ ...config, tools: { ...config.tools, exec: { ...exec, sandbox: mode } } });
        const state = { ...(await sandbox.check()), mode: exec.sandbox };
        await sandbox.stop();
        if (terminal.isJson) terminal.json(state);
        else {
          terminal.print(describeSandbox(state));
          if (exec.sandbox === 'off') terminal.note('tools.exec.sandbox is "off": it is not used');
        }
        return ['on', 'reduced', 'external'].includes(state.status) ? EXIT.ok : EXIT.failed;
      },
    }),
  },
};
