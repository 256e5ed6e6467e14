// The files that the tool `message` sends. A file is opened and copied when the tool is called, and
// the copy is sent: nothing that happens to the file until then, or while a person decides about
// the call, changes what is sent.
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { FILE_BYTES_MAX } from '../config/schema-channels.ts';
import type { OutgoingMedia } from '../core/delivery-payload.ts';
import type { DeliveryId } from '../core/ids.ts';
import { copyFile, FileTooLargeError, hashFile, type FileDigest } from '../files/copies.ts';
import { FileSystemHangsError } from '../files/file-slots.ts';
import { confinedTo } from '../files/confines.ts';
import { openInside, withFileInside, type OpenedFile } from '../files/inside.ts';
import type { ToolCall } from './tool.ts';

export interface OutgoingMediaOptions {
  /** Absolute folders, in addition to the workspace, from which files may be sent. */
  mediaRoots: readonly string[];
  /** The largest file of a message on a channel. */
  fileBytesMaxOn: (channel: string) => number;
  /** The private folder in which files wait until they are sent. */
  outgoing: string;
}

/** Where the media of a call goes. */
export interface MediaCall {
  id: DeliveryId;
  channel: string;
  call: ToolCall;
}

/** `refused` is a reason for the model. */
type TakenMedia = { kind: 'media'; media: OutgoingMedia } | { kind: 'refused'; reason: string };

export function isUrl(named: string): boolean {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(named);
}

/**
 * The size and the hash of a file that a call names; null: there is none that may be sent, or it
 * cannot be read.
 */
export function digestFile(
  { mediaRoots }: OutgoingMediaOptions,
  named: string,
  { workspaceDir, signal }: Pick<ToolCall, 'workspaceDir' | 'signal'>,
): Promise<FileDigest | null> {
  const hash = ({ file }: OpenedFile) => hashFile(file, { bytesMax: FILE_BYTES_MAX, signal });
  return withFileInside(named, confinedTo(workspaceDir, mediaRoots), hash).catch(() => null);
}

/**
 * Takes the media that a call names: a URL as it is, of a file a copy under the id of the delivery.
 */
export async function takeMedia(options: OutgoingMediaOptions, named: string, posting: MediaCall): Promise<TakenMedia> {
  if (isUrl(named)) return takeUrl(named);
  const { id, channel, call } = posting;
  const { outgoing } = options;
  const opened = await openNamed(options, named, call);
  const quoted = JSON.stringify(named);
  if (opened === null)
    return refused(`${quoted} is not a file of the workspace; give a path inside it or an http(s) URL`);
  const bytesMax = options.fileBytesMaxOn(channel);
  try {
    const { sha256 } = await copyFile(opened.file, { folder: outgoing, name: id, bytesMax, signal: call.signal });
    const shown = (await call.readShown?.()) as { file?: FileDigest | null } | undefined;
    if (shown === undefined || shown.file?.sha256 === sha256)
      return { kind: 'media', media: { path: join(outgoing, id), name: basename(opened.path) } };
    await dropMedia(options, id);
    return refused(
      `${quoted} is not the file that was approved: it has changed since. Call the tool again, and a person is asked about the file as it is now`,
    );
  } catch (error) {
    if (!(error instanceof FileTooLargeError)) throw error;
    return refused(
      `${quoted} has ${error.bytes} bytes, and a file on ${channel} may have ${bytesMax}; send a smaller one, or say in your reply where it is`,
    );
  } finally {
    // Not awaited: it ends after a read of a file system that hangs.
    void opened.file.close();
  }
}

/** Deletes the copy of a delivery that is not stored. */
export function dropMedia({ outgoing }: OutgoingMediaOptions, id: DeliveryId): Promise<void> {
  return rm(join(outgoing, id), { force: true });
}

/**
 * Null: it is none that may be sent. A file outside must be indistinguishable from one that does
 * not exist.
 */
function openNamed(
  { mediaRoots }: OutgoingMediaOptions,
  named: string,
  { workspaceDir }: ToolCall,
): Promise<OpenedFile | null> {
  return openInside(named, confinedTo(workspaceDir, mediaRoots)).catch((error: unknown) => {
    if (error instanceof FileSystemHangsError) throw error;
    return null;
  });
}

function takeUrl(named: string): TakenMedia {
  const url = URL.canParse(named) ? new URL(named) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    return refused(`${JSON.stringify(named)} cannot be sent: give an http(s) URL without user and password`);
  }
  return { kind: 'media', media: { url: url.href } };
}

function refused(reason: string): TakenMedia {
  return { kind: 'refused', reason };
}
