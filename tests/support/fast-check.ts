import { sep } from 'node:path';
import fc from 'fast-check';

// Every run of `npm test` draws the same values, so that it fails only for what has changed. The files of `test:full` draw new
// ones each time; a failure prints its seed.
const isFull = process.argv[1]?.includes(`${sep}tests${sep}full${sep}`) ?? false;
// Texts and lists are as long as they may be: by default they end at ten.
fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true, ...(!isFull && { seed: 1 }) });

export default fc;
