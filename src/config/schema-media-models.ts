// The shape of the models of pictures and sounds in `tools`: each is a tool or, for `transcribe`, what audio is read with. Without its model it is not
// there.
import { z } from 'zod';
import { choice, optional, section, text, word } from './schema-scalars.ts';

/** Dollars. */
const price = z.number().min(0).max(10_000);
const model = word.describe('the model, as `provider/model`');
const options = optional(z.record(z.string(), z.unknown())).describe(
  'fields of each request, in the words of the AI SDK, such as `{quality: "low"}`',
);

export const mediaModels = {
  image: optional(section({ model })).describe('the tool `image`: a model that sees reads a picture'),
  imageGenerate: optional(
    section({
      model,
      size: optional(z.string().regex(/^\d{2,5}x\d{2,5}$/, 'a size such as "1024x1024"')).describe(
        'the size of pictures; none: the default of the model',
      ),
      options,
      usdPerImage: optional(price).describe('the price of a picture, if the model has none by tokens'),
    }),
  ).describe('the tool `image_generate`'),
  tts: optional(
    section({
      model,
      voice: optional(text).describe('the voice; none: the default of the model'),
      format: choice(['mp3', 'opus', 'aac', 'flac', 'wav'], 'mp3').describe('the format of the files'),
      options,
      usdPerMChars: optional(price).describe('the price of a million characters, if the model has none by tokens'),
    }),
  ).describe('the tool `tts`'),
  transcribe: optional(
    section({
      model,
      options,
      usdPerMinute: optional(price).describe('the price of a minute of audio, if the model has none by tokens'),
    }),
  ).describe('audio that comes with messages is transcribed with this model'),
};
