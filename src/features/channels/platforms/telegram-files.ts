// Sends a file to a chat of Telegram, by the method for its type.
import { stat } from 'node:fs/promises';
import { InputFile, type Api } from 'grammy';
import type { Message } from 'grammy/types';
import { PlatformError, type OutgoingFile } from '../platform.ts';
import { ABOUT_STYLES, ask, wire } from './telegram-wire.ts';

/** A larger picture is a document. */
const PHOTO_BYTES_MAX = 10 * 1024 * 1024;

type Method = 'sendPhoto' | 'sendVoice' | 'sendAudio' | 'sendVideo' | 'sendDocument';

const METHODS: readonly (readonly [RegExp, Method])[] = [
  [/^image\/(?:jpeg|png|webp)$/, 'sendPhoto'],
  [/^audio\/ogg$/, 'sendVoice'],
  [/^audio\/(?:mpeg|mp4)$/, 'sendAudio'],
  [/^video\/mp4$/, 'sendVideo'],
];

/** As what its type says. What Telegram does not take as such, a picture of another shape for instance, is a document. */
export async function sendFile(call: {
  api: Api;
  chat: string;
  file: OutgoingFile;
  options: object;
  signal: AbortSignal;
}): Promise<Message> {
  const { api, chat, file, options, signal } = call;
  const { path, name, type = '' } = file;
  const send = (method: Method): Promise<Message> =>
    ask<Message>(method, signal, (until) => api[method](chat, new InputFile(path, name), options, wire(until)));
  const method = METHODS.find(([types]) => types.test(type))?.[1] ?? 'sendDocument';
  if (method === 'sendDocument') return send(method);
  if (method === 'sendPhoto' && (await stat(path)).size > PHOTO_BYTES_MAX) return send('sendDocument');
  return send(method).catch((error: unknown) => {
    if (error instanceof PlatformError && error.kind === 'refused' && !ABOUT_STYLES.test(error.message))
      return send('sendDocument');
    throw error;
  });
}
