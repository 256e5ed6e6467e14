// Measures prompts in a process without a worker. What that needs is loaded when the first estimate asks for it.
import type { MeasurePrompt } from '../src/service/submit-batch.ts';
import type { openPromptMeter } from './start-worker.ts';

/** Makes it. */
export function createPromptMeter(options: Parameters<typeof openPromptMeter>[0]): MeasurePrompt {
  let opening: Promise<MeasurePrompt> | undefined;
  return async (item) => {
    opening ??= import('./start-worker.ts').then((worker) => worker.openPromptMeter(options));
    return (await opening)(item);
  };
}
