// Writes the generated pages of docs/ from the built code: `npm run docs`.
import { writeFileSync } from 'node:fs';
import { CATALOGUE } from '../dist/src/base/errors.js';
import { errorsPage } from '../dist/tests/support/errors-page.js';

writeFileSync(new URL('../docs/errors.md', import.meta.url), errorsPage(CATALOGUE));
