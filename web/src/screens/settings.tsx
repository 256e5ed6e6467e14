// The settings of the service: keys, the audit log, the configuration, its environment, and the
// prices.
import { useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { Empty } from '../parts/bits.tsx';
import { me } from '../me.ts';
import { AlertDestinations } from './alert-destinations.tsx';
import { ApiKeys } from './api-keys.tsx';
import { ChangeLog } from './change-log.tsx';
import { Configuration } from './configuration.tsx';
import { McpServers } from './mcp-servers.tsx';
import { PriceTable } from './price-table.tsx';
import { Versions } from './versions.tsx';

const route = getRouteApi('/app/settings');

const TABS = {
  keys: { name: 'API keys', isForAdmins: true, view: () => <ApiKeys /> },
  alerts: { name: 'Alerts', isForAdmins: true, view: () => <AlertDestinations /> },
  changes: { name: 'Audit log', isForAdmins: true, view: () => <ChangeLog /> },
  configuration: { name: 'Configuration', isForAdmins: true, view: () => <Configuration /> },
  mcp: { name: 'MCP', isForAdmins: false, view: () => <McpServers /> },
  versions: { name: 'Versions', isForAdmins: true, view: () => <Versions /> },
  prices: { name: 'Price table', isForAdmins: false, view: () => <PriceTable /> },
} as const;

type Tab = keyof typeof TABS;

const isTab = (name: string): name is Tab => Object.hasOwn(TABS, name);

export function SettingsScreen(): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const { tab = 'keys' } = route.useSearch();
  const shown = isTab(tab) ? tab : 'keys';
  const { isForAdmins, view, name } = TABS[shown];
  return (
    <>
      <h1>Settings</h1>
      <nav className="tabs" aria-label="Settings">
        {Object.entries(TABS).map(([id, each]) => (
          <Link
            key={id}
            to="/settings"
            search={{ tab: id }}
            aria-current={id === shown ? 'page' : undefined}
            activeOptions={{ includeSearch: true }}
          >
            {each.name}
          </Link>
        ))}
      </nav>
      {isForAdmins && who.role !== 'admin' ? (
        <Empty>
          {name} is for admins. You are signed in as {who.role}.
        </Empty>
      ) : (
        view()
      )}
    </>
  );
}
