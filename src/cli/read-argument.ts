// The text that is piped into a command instead of an argument.
import { buffer } from 'node:stream/consumers';
import { decodeText, NOT_TEXT } from '../core/text.ts';
import { usageError } from './cli-error.ts';

/**
 * The argument, or all of stdin for `-`. Throws `CliError` for bytes that are not text: they would
 * be sent as replacement characters.
 */
export async function readArgument(argument: string): Promise<string> {
  if (argument !== '-') return argument;
  const text = decodeText(await buffer(process.stdin));
  if (text !== null) return text;
  throw usageError(
    `stdin ${NOT_TEXT}`,
    'convert it first, for example with iconv -f WINDOWS-1252 -t UTF-8',
    'not_text',
  );
}
