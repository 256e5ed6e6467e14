-- Calls of models that tools make, and transcriptions of audio: they are rows beside those of answers and summaries, with their costs.
alter table holdfast.model_calls drop constraint model_calls_purpose_check;
-- Not checked for the rows that there are: they have met the narrower one.
alter table holdfast.model_calls add constraint model_calls_purpose_check
  check (purpose in ('answer', 'compaction', 'image', 'image_generate', 'tts', 'transcription')) not valid;
