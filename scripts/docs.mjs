// Writes the generated pages of docs/ from the built code: `npm run docs`.
import { readFileSync, writeFileSync } from 'node:fs';
import { CATALOGUE } from '../dist/src/base/errors.js';
import { errorsPage } from '../dist/tests/support/errors-page.js';
import { fieldsPage } from '../dist/tests/support/fields-page.js';
import { FAMILY_FIXTURES } from '../dist/tests/support/family-fixtures.js';
import { modelsPage } from '../dist/tests/support/models-page.js';
import { apiEntries, apiIndexPage } from '../dist/tests/support/site/api-pages.js';
import { speedPage, withSpeed } from '../dist/tests/support/speed-page.js';
import { wellKnownPage } from '../dist/tests/support/well-known-models.js';

writeFileSync(new URL('../docs/errors.md', import.meta.url), errorsPage(CATALOGUE));
writeFileSync(new URL('../docs/models.md', import.meta.url), modelsPage(FAMILY_FIXTURES));
writeFileSync(new URL('../docs/fields.md', import.meta.url), fieldsPage());
writeFileSync(new URL('../docs/well-known-models.md', import.meta.url), await wellKnownPage());
const grid = readFileSync(new URL('../tests/fixtures/speed.json', import.meta.url), 'utf8');
writeFileSync(new URL('../docs/speed.md', import.meta.url), speedPage(JSON.parse(grid)));
const readme = new URL('../README.md', import.meta.url);
writeFileSync(readme, withSpeed(readFileSync(readme, 'utf8'), JSON.parse(grid)));
writeFileSync(new URL('../docs/api.md', import.meta.url), apiIndexPage(apiEntries()));
