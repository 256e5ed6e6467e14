// Turns with models of pictures and sounds: a turn rig whose configuration has them, and a scripted
// model that serves them as OpenAI and Google do.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startScriptedModel, type ScriptedModel } from '../../../scripted-model/scripted-model.ts';
import { createMediaTools } from '../../../src/features/media-models/tools.ts';
import { viewTurn } from '../../../src/kernel/views/turns.ts';
import type { InboundMessage } from '../../../src/core/inbound.ts';
import { readEntries } from '../../rows/entries.ts';
import { readToolCalls } from '../../rows/calls.ts';
import { readTurns } from '../../rows/turns.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { createTurnRig } from '../../turn/turn-rig.ts';

/** What the models are, at a scripted model with this address. */
export function mediaSettings(url: string) {
  return {
    models: {
      providers: {
        openai: { apiKey: 'sk-secret-1', baseUrl: `${url}/v1`, headers: { 'x-team': 'blue' } },
        google: { apiKey: 'g-1', baseUrl: `${url}/v1beta` },
      },
      prices: [{ model: 'openai/gpt-image-1', inputPerMTok: 5, outputPerMTok: 40 }],
    },
    tools: {
      image: { model: 'openai/gpt-5' },
      imageGenerate: { model: 'openai/gpt-image-1', size: '1024x1024', options: { quality: 'low' } },
      tts: { model: 'openai/tts-1', voice: 'nova' },
      transcribe: { model: 'openai/whisper-1' },
      fetch: { allowPrivate: [new URL(url).host] },
    },
  };
}

export type MediaRig = Awaited<ReturnType<typeof createMediaRig>>;

/** `change`: changes the settings. */
export async function createMediaRig(change: (settings: ReturnType<typeof mediaSettings>) => object = (same) => same) {
  const database = await withTestDatabase();
  const media: ScriptedModel = await startScriptedModel();
  const rig = await createTurnRig(database.url, { settings: change(mediaSettings(media.url)) });
  const workspaceDir = rig.config.workspace.path;
  await mkdir(workspaceDir, { recursive: true });
  const newWorker = (more: Parameters<typeof rig.worker>[0] = {}) =>
    rig.worker({ tools: createMediaTools({ config: rig.config }), ...more });
  const worker = newWorker();
  return {
    ...rig,
    media,
    newWorker,
    /** The requests to the models of pictures and sounds, newest last. */
    asked: (path: string) => media.requests.filter((request) => request.path === path),
    async put(name: string, bytes: string | Uint8Array): Promise<void> {
      await mkdir(dirname(join(workspaceDir, name)), { recursive: true });
      await writeFile(join(workspaceDir, name), bytes);
    },
    get: (name: string): Promise<Buffer> => readFile(join(workspaceDir, name)),
    /** Runs a turn with this message, and returns what is stored of it. */
    async turn(name: string, text: string, more: Partial<InboundMessage> = {}) {
      await rig.send(name, text, more);
      await worker.run(name);
      return await this.stored(name);
    },
    /** Runs the turn that waits in a session. */
    async rerun(name: string) {
      await worker.run(name);
      return await this.stored(name);
    },
    /** What is stored of the last turn of a session. */
    async stored(name: string) {
      const sessionId = await rig.sessionOf(name);
      const row = (await readTurns(rig, { sessionId }, 'id', 'startedAt'))
        .toSorted((one, other) => Number(one.startedAt) - Number(other.startedAt))
        .at(-1);
      const id = String(row?.id);
      const entries = await readEntries(rig, { turnId: id }, 'seq', 'kind', 'content', 'provenance');
      const inOrder = entries.toSorted((one, other) => one.seq - other.seq);
      const results = inOrder.flatMap(({ kind, content }) =>
        kind === 'results'
          ? (content as { content: string | { type: string; text?: string }[]; is_error?: boolean }[])
          : [],
      );
      return {
        turn: await viewTurn(rig.database.views, id),
        ledger: await readToolCalls(rig, { turnId: id }, 'name', 'status', 'runs'),
        entries: inOrder,
        results: results.map(({ content, is_error: isError = false }) => ({
          isError,
          blocks: typeof content === 'string' ? ['text'] : content.map(({ type }) => type),
          text:
            typeof content === 'string'
              ? content
              : content
                  .map(({ text = '' }) => text)
                  .join('\n')
                  .trim(),
        })),
      };
    },
    async close() {
      await rig.close();
      await media.close();
      await database.drop();
    },
  };
}
