// Starts the scripted model as a child process.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TimedCall } from './model-main.ts';

export interface ModelProcess {
  url: string;
  /** The calls since the last time, oldest first. */
  takeCalls(): Promise<TimedCall[]>;
  stop(): void;
}

/** Starts it and resolves when it listens. It ends with this process at the latest. */
export async function startModelProcess(): Promise<ModelProcess> {
  const child = fork(fileURLToPath(new URL('model-main.ts', import.meta.url)));
  const [url] = (await once(child, 'message')) as [string];
  return {
    url,
    async takeCalls() {
      const answer = once(child, 'message') as Promise<[TimedCall[]]>;
      child.send('calls');
      return (await answer)[0];
    },
    stop: () => child.disconnect(),
  };
}
