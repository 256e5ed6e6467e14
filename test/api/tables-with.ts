// Searches the whole database for a text.

/** Every table that has the text in any of its columns, with the number of rows. */
export async function tablesWith(
  rows: (sql: string, values?: unknown[]) => Promise<Record<string, unknown>[]>,
  text: string,
): Promise<Record<string, number>> {
  const tables = await rows(
    `select table_name as name from information_schema.tables where table_schema = 'holdfast' and table_type = 'BASE TABLE'`,
  );
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await rows(
      `select count(*)::int as count from holdfast.${String(name)} r where strpos(lower(r::text), $1) > 0`,
      [text.toLowerCase()],
    );
    if (Number(row?.['count']) > 0) found[String(name)] = Number(row?.['count']);
  }
  return found;
}
