// The `tts` tool: has a text spoken and writes the sound into the workspace. Paid, so an effect, as
// `image_generate` is.
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { given } from '../../core/json.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { errorOutcome, textOutcome, type Tool } from '../../tools/tool.ts';
import { markOf } from '../../tools/untrusted-result.ts';
import { answerOf, paidFailure, requestOf, sendMedia } from './call-model.ts';
import { fittingPath, planFile, writeFile } from './write-file.ts';
import { soundFormat, unitCost } from './rules.ts';

const TEXT_CHARS_MAX = 20_000;
/**
 * Models that are billed by tokens answer with about 20 for a second, and a second is at least 10
 * characters.
 */
const TOKENS_PER_CHAR_MAX = 2;
const TIMEOUT_MS = 180_000;

type Settings = NonNullable<Config['tools']['tts']>;

export function createTtsTool(config: Config, settings: Settings): Tool {
  const { model, voice: ownVoice, format, options } = settings;
  return defineTool({
    name: 'tts',
    description:
      'Speak a text with the configured speech model, and write the audio into the workspace. Each call is paid. Returns the path; the message tool can send the file where its channel takes files.',
    summary: 'Turn text into an audio file',
    input: z.strictObject({
      text: z.string().min(1).max(TEXT_CHARS_MAX).describe('The text to speak'),
      voice: z.string().min(1).max(200).optional().describe('Another voice than the configured one'),
      file_path: z.string().min(1).max(1000).optional().describe('Path of the new file, relative to the workspace'),
    }),
    aliases: { path: 'file_path' },
    isIdempotent: false,
    isReadOnly: false,
    timeoutMs: TIMEOUT_MS,
    async run({ text, voice = ownVoice, file_path: file }, call) {
      const plan = await planFile(call, file);
      if ('fault' in plan) return errorOutcome(`tts: file_path: ${plan.fault}`);
      try {
        const paid = {
          purpose: 'tts' as const,
          request: requestOf(model, text, text.length * TOKENS_PER_CHAR_MAX),
          unitMicros: unitCost(settings, 'usdPerMChars', text.length / 1_000_000),
          signal: call.signal,
        };
        const audio = await call.models.pay(paid, async (way) => {
          const asked = { text, outputFormat: format, options, ...given({ voice }) };
          const answer = await sendMedia(config, 'speech', way, asked);
          const bytes = typeof answer.audio === 'string' ? Buffer.from(answer.audio, 'base64') : answer.audio;
          return answerOf(bytes, answer);
        });
        if (audio.length === 0) return errorOutcome('tts: the model has made no sound.');
        const mark = markOf(call);
        const made = { format: soundFormat(audio) ?? format, mark };
        const path = await fittingPath(call, file ?? `audio/speech-${mark}.${format}`, made);
        const written = await writeFile(call, path, audio);
        if (written !== null) return errorOutcome(`tts: the speech was made and paid, but ${written}`);
        return textOutcome(`wrote ${audio.length} bytes of speech to ${path}`);
      } catch (error) {
        return paidFailure('tts', error, { mayRepeat: false });
      }
    },
  });
}
