import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import { HttpClient } from '../../../src/node/hub/http-client.ts';
import { readHubSettings } from '../../../src/node/hub/hub-settings.ts';
import { proxyFor } from '../../../src/node/hub/proxy.ts';
import { startHub } from '../../support/hub/hub-server.ts';
import { hubEnvironment, pullWith, randomBytes } from '../../support/hub/pulling.ts';

test('which proxy an address has', () => {
  const environment = {
    HTTPS_PROXY: 'http://user:pass@secure:3128',
    http_proxy: 'plain:8080',
    NO_PROXY: 'localhost,.example.org, hub.io:8443',
  };
  const proxy = (url: string) => proxyFor(new URL(url), environment)?.host;
  assert.equal(proxy('https://huggingface.co/x'), 'secure:3128');
  assert.equal(proxy('http://huggingface.co/x'), 'plain:8080');
  assert.equal(proxy('https://localhost/x'), undefined);
  assert.equal(proxy('https://cdn.example.org/x'), undefined);
  assert.equal(proxy('https://notexample.org/x'), 'secure:3128');
  assert.equal(proxy('https://hub.io/x'), 'secure:3128');
  assert.equal(proxy('https://hub.io:8443/x'), undefined);
  assert.equal(proxyFor(new URL('https://x.y'), { HTTPS_PROXY: 'a:1', NO_PROXY: '*' }), undefined);
  assert.equal(proxyFor(new URL('https://x.y'), {}), undefined);
});

test('what is no proxy, and other settings that no request can have, are refused by name', async () => {
  for (const HTTPS_PROXY of ['socks5://127.0.0.1:1080', 'http://[half', 'ftp://x']) {
    assert.throws(() => proxyFor(new URL('https://x.y'), { HTTPS_PROXY }), {
      code: 'INVALID_ARGUMENT',
      message: /HTTPS_PROXY, .*expected an address of a proxy that speaks HTTP/,
    });
  }
  const refusedBy = (environment: NodeJS.ProcessEnv, message: RegExp) =>
    assert.rejects(readHubSettings(environment), { code: 'INVALID_ARGUMENT', message });
  await refusedBy(
    { HF_TOKEN: 'hf_a\nhf_b' },
    /^HF_TOKEN: found a text with spaces, line breaks[^_]*hf_\.\.\.$/,
  );
  await refusedBy({ HF_HUB_OFFLINE: 'perhaps' }, /HF_HUB_OFFLINE: found perhaps, expected 1 or 0/);
});

/** A proxy that passes plain requests on, and opens tunnels unless it refuses to. */
async function startProxy(t: TestContext): Promise<{ url: string; seen: string[]; refuses: boolean }> {
  const state = { url: '', seen: [] as string[], refuses: false };
  const server = createServer((asked, answer) => {
    state.seen.push(`${asked.headers['proxy-authorization']} ${asked.url}`);
    const { 'proxy-authorization': _, ...headers } = asked.headers;
    request(asked.url ?? '', { headers }, (found) => {
      answer.writeHead(found.statusCode ?? 500, found.headers);
      found.pipe(answer);
    }).end();
  });
  server.on('connect', (asked, socket) => {
    state.seen.push(`${asked.headers['proxy-authorization']} CONNECT ${asked.url}`);
    if (state.refuses) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const [host = '', port = ''] = asked.url?.split(':') ?? [];
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  state.url = `http://me:secret@127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}

const WHO = `Basic ${Buffer.from('me:secret').toString('base64')}`;

test('plain addresses are asked for through the proxy', async (t) => {
  const proxy = await startProxy(t);
  const server = await startHub(t, { 'user/tiny': { 'tiny-Q4_0.gguf': randomBytes(5000) } });
  const environment = { ...hubEnvironment(t, server), HTTP_PROXY: proxy.url };
  await pullWith(environment, 'user/tiny');
  assert.equal(proxy.seen.length, server.asked.length);
  assert.ok(proxy.seen.every((line) => line.startsWith(`${WHO} http://127.0.0.1`)));
});

test('secure addresses are reached through a tunnel, or the proxy’s refusal is told', async (t) => {
  const proxy = await startProxy(t);
  const { signal } = new AbortController();
  using client = new HttpClient({ idleMs: 60_000, environment: { HTTPS_PROXY: proxy.url } });
  // Nothing here speaks TLS: what counts is that the tunnel leads to the server, which then fails the handshake.
  const server = await startHub(t, {});
  const address = server.url.replace('http:', 'https:');
  await assert.rejects(client.get(address, { signal }), {
    code: 'SOURCE_UNAVAILABLE',
    message: /SSL|TLS|packet/i,
  });
  proxy.refuses = true;
  await assert.rejects(client.get(address, { signal }), {
    code: 'SOURCE_UNAVAILABLE',
    message: /proxy 127\.0\.0\.1:\d+ answered CONNECT with status 403/,
  });
  const { host } = new URL(address);
  assert.deepEqual(proxy.seen, [`${WHO} CONNECT ${host}`, `${WHO} CONNECT ${host}`]);
});
