// A list as data: what it reads, its columns and filters, what can be done to its rows, and where a
// row leads.
import type { ReactNode } from 'react';
import type { BulkAction } from '../api.ts';
import type { CopiedRow } from './copy-row.tsx';
import type { Column } from './data-table.tsx';

/** The filters of a list and their values, as they are in the URL. */
export type Search = Readonly<Record<string, string | undefined>>;

export interface Filter {
  /** In the URL. */
  name: string;
  title: string;
  /**
   * The values; `agents` and others: those that exist now; `times`: ranges that end now. Absent: any
   * text.
   */
  options?: readonly string[] | 'agents' | 'models' | 'channels' | 'codes' | 'times';
  /** What no value means; absent: no filter. */
  usual?: string;
  /** Few people need it. */
  isRare?: true;
}

export interface List<Row> {
  title: string;
  /** Names the table; absent: as the title. */
  label?: string;
  /** What one row is. */
  noun: string;
  /** The beginning of the key of its query: events refresh it by this. */
  key: readonly string[];
  read: (
    search: Search,
    page: { limit: number; cursor: string | undefined },
    signal: AbortSignal,
  ) => Promise<{ items: readonly Row[]; nextCursor: string | null }>;
  pageSize?: number;
  /**
   * How long after an answer the list is read again, in milliseconds; absent: when an event says
   * so.
   */
  rereadMs?: (rows: readonly Row[], readAtMs: number) => number | false;
  columns: readonly Column<Row>[];
  hasChooser?: true;
  filters: readonly Filter[];
  idOf: (row: Row) => string;
  /** The path of a row; null: it has none. */
  pathOf?: (row: Row) => string | null;
  /**
   * What is shown beside the list when the row of this id is opened; absent: its path is opened. The
   * row is not there before it is loaded.
   */
  panel?: (id: string, close: () => void, row: Row | undefined) => ReactNode;
  copied?: (row: Row) => CopiedRow;
  bulk?: {
    target: BulkAction['target'];
    actions: readonly BulkAction['action'][];
    /** The filter of an action on all that match; null: it has none that finds the same. */
    filterOf: (search: Search) => object | null;
  };
  /** Without filters. */
  empty: { text: ReactNode; command?: string };
}
