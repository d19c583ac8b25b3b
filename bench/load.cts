// See bench/load/main.ts. Reads run on libuv's threads, whose number is decided before the first module is loaded.
process.env['UV_THREADPOOL_SIZE'] ??= '16';
void import('./load/main.ts');
