// CSV that no spreadsheet takes for a formula: cells that begin like one get an apostrophe. Plain numbers stay numbers.

export function csvCell(v: string): string {
  const safe = /^[=+\-@\t\r]/.test(v) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(v) ? `'${v}` : v;
  return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}
export const csv = (rows: string[][]): string => `${rows.map((r) => r.map(csvCell).join(',')).join('\r\n')}\r\n`;
