// The services that the routes of one API share: waits, streams, metrics. Made with the server, closed with it.
import type { StatsView } from '../contract/overview.ts';
import type { WorkerView } from '../contract/workers.ts';
import type { SettlementView } from '../store/views/settlements.ts';
import type { ScrapeFigures } from '../store/views/scrape-figures.ts';
import type { Page } from '../store/views/page.ts';
import type { Admission } from './admission.ts';
import type { EventStreams } from './event-streams.ts';
import type { EventTail } from './event-tail.ts';
import type { Attempts } from './attempts.ts';
import type { KeyRing } from './key-ring.ts';
import type { ApiMetrics } from './metrics.ts';
import type { Readiness } from '../contract/answers.ts';
import type { Attention, Overview } from '../contract/overview.ts';
import type { SettlementWaiter } from './settlement-waiter.ts';

/** The processes that an open page shows, which is also the default of their list. */
export const WORKERS_SHOWN = 50;

export interface ApiServices {
  /** The keys that open this API. */
  keys: KeyRing;
  attempts: Attempts;
  admission: Admission;
  waiter: SettlementWaiter<SettlementView>;
  tail: EventTail;
  streams: EventStreams;
  metrics: ApiMetrics;
  /** The statistics as they are now. */
  readStats: () => Promise<StatsView>;
  /** Further queries of a scrape; concurrent requests share a read. */
  readScrapeFigures: () => Promise<ScrapeFigures>;
  /** For pages of the dashboard, of which many may be open: at most a second old. */
  pages: {
    readReadiness: () => Promise<Readiness>;
    readStats: () => Promise<StatsView>;
    /** The first page of processes, of `WORKERS_SHOWN`. */
    readWorkers: () => Promise<Page<WorkerView>>;
  };
  /** The figures of the overview, at most a second old. */
  readOverview: () => Promise<Overview>;
  /** What needs a person, at most a second old, with what operators have decided about it. */
  readAttention: () => Promise<Attention>;
  /** Readiness; it needs no key, so simultaneous requests share one check. */
  readReadiness: () => Promise<Readiness>;
  /** The OpenAPI document of the route table, built on the first request. */
  openApi: () => object;
  close(): void;
}
