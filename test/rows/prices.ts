import { table } from './table.ts';

export const { read: readPriceVersions } = table('price_versions', 'version', { text: 'version sha256', json: 'rows' });
