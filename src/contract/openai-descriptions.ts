// Descriptions of the fields of the OpenAI-compatible endpoints that are not OpenAI's own. A part of `field-descriptions.ts`.

const ENDPOINTS = [
  'createChatCompletion',
  'createResponse',
  'getResponse',
  'deleteResponse',
  'cancelResponse',
  'listModels',
  'getModel',
];

/** By operation and field; the endpoints exist under two paths. */
export const OPENAI_DESCRIPTIONS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ENDPOINTS.flatMap((name) => [name, `${name}ForClients`]).flatMap((operation) => [
      [`${operation}.object`, 'What kind of object it is'],
      [`${operation}.created`, 'Seconds since the epoch'],
      [`${operation}.owned_by`, 'Always holdfast'],
      [`${operation}.data`, 'The models'],
      [`${operation}.deleted`, 'It is hidden from now on'],
      [`${operation}.stream`, 'true: server-sent events instead of one object'],
      [`${operation}.starting_after`, 'The sequence_number of the last event that the client has'],
    ]),
  ),
  ...Object.fromEntries(
    ['uploadFile', 'listFiles', 'getFile', 'deleteFile', 'createBatch', 'listBatches', 'getBatch', 'cancelBatch']
      .map((name) => `${name}ForClients`)
      .flatMap((operation) => [
        [`${operation}.object`, 'What kind of object it is'],
        [`${operation}.data`, 'The items of the page'],
        [`${operation}.deleted`, 'It is gone'],
        [`${operation}.after`, 'The last id of the page before'],
        [`${operation}.order`, 'desc: newest first'],
        [`${operation}.purpose`, 'Only files of this purpose'],
      ]),
  ),
  'OpenAiError.error': 'What is wrong',
  'OpenAiError.message': 'What is wrong and what is allowed, for people',
  'OpenAiError.type': 'The kind of error, as OpenAI names it',
  'OpenAiError.param': 'The invalid parameter; null: none',
  'OpenAiError.code': "A stable code: OpenAI's if it has one, or else a problem code of Holdfast",
};
