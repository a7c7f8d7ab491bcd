// Where the browser is: CHANCERY_TEST_CHROMIUM, or else `chromium` of the PATH.

import assert from 'node:assert/strict';
import { accessSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export function chromium() {
  if (process.env.CHANCERY_TEST_CHROMIUM) return process.env.CHANCERY_TEST_CHROMIUM;
  const found = process.env.PATH.split(delimiter).map((folder) => join(folder, 'chromium')).find((path) => {
    try { accessSync(path); return true; } catch { return false; }
  });
  assert.ok(found, 'there is no chromium on the PATH');
  return found;
}
