import { expect, test } from 'vitest';
import { isFaultOfDatabase } from '../../src/database/passing-faults.ts';

test.for<[code: string, meaning: string]>([
  ['53100', 'a full disk'],
  ['53200', 'no memory left'],
  ['53300', 'too many connections'],
  ['53400', 'a limit of the configuration'],
  ['58030', 'an error of the file system'],
  ['57014', 'a statement that took too long'],
  ['57P01', 'an administrator who ends the connection'],
  ['57P02', 'a server that crashed'],
  ['57P03', 'a server that is starting'],
  ['55000', 'a database that accepts no connections'],
  ['25006', 'a database that is read-only'],
  ['28P01', 'a password that was changed'],
  ['40001', 'a serialization failure'],
  ['40P01', 'a deadlock'],
  ['08006', 'a broken connection'],
  ['ECONNREFUSED', 'a server that does not listen'],
  ['ENOTFOUND', 'a host name that has no address'],
  ['batch_full', 'more waiting statements than may wait'],
])('%s (%s) is a fault of the database', ([code]) => {
  expect(isFaultOfDatabase(code)).toBe(true);
});

test.for<[code: string, meaning: string]>([
  ['22003', 'a number out of range'],
  ['22P02', 'a text that is no number'],
  ['22021', 'bytes that are no text'],
  ['23505', 'a key that exists already'],
  ['42P01', 'a table that does not exist'],
  ['42501', 'a missing privilege'],
  ['54000', 'a statement that is too large'],
  ['ENOENT', 'a missing file'],
  ['57', 'a text that is no code'],
  ['', 'no code'],
])('%s (%s) is a fault of the statement', ([code]) => {
  expect(isFaultOfDatabase(code)).toBe(false);
});
