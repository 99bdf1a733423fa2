// Asks Perfetto's trace processor about a trace: the WebAssembly that its page runs, here under Node and without a
// network. Prints a JSON array of rows for each query, on a line of its own.
//
//   node trace_query.js ENGINE TRACE SQL [SQL ...]
//
// ENGINE is the folder that holds engine_bundle.js and trace_processor.wasm (scripts/setup_peers.sh --traces). The
// engine speaks protocol buffers: TraceProcessorRpc of Perfetto's trace_processor.proto, one message each way.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [engineFolder, traceFile, ...queries] = process.argv.slice(2);

// Field numbers and methods of trace_processor.proto.
const kStream = 1;                                  // TraceProcessorRpcStream.msg
const kSequence = 1, kRequest = 2, kFatal = 5;      // TraceProcessorRpc
const kAppendData = 101, kQueryArgs = 103, kAppendResult = 201, kQueryResult = 203;
const Method = {appendTrace: 1, finalize: 2, query: 3, reset: 10};

// ---- Protocol buffers ------------------------------------------------------------------------------------------------

function varint(value) {
  const out = [];
  for (; value > 127; value = Math.floor(value / 128)) out.push(value % 128 | 128);
  out.push(value);
  return Buffer.from(out);
}
const numberField = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytesField = (field, data) => Buffer.concat([varint(field << 3 | 2), varint(data.length), data]);

/// Reads a message field by field: {field, value}, a value being a BigInt or the bytes of it.
class Reader {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }
  more() { return this.at < this.bytes.length; }
  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }
  take(length) {
    const part = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return part;
  }
  next() {
    const key = Number(this.varint()), field = key >>> 3;
    switch (key & 7) {
      case 0: return {field, value: this.varint()};
      case 1: return {field, value: this.take(8)};
      case 2: return {field, value: this.take(Number(this.varint()))};
      default: return {field, value: this.take(4)};
    }
  }
}
function* fieldsOf(bytes) {
  for (const reader = new Reader(bytes); reader.more();) yield reader.next();
}
const text = (bytes) => Buffer.from(bytes).toString();

// ---- The engine, in a context that looks like a worker of a page -----------------------------------------------------

class Engine {
  constructor(folder) {
    this.answers = [];
    this.sequence = 0;
    this.port = {onmessage: null, postMessage: (data) => this.answers.push(Buffer.from(data))};
    const silent = () => {};
    const scope = {
      console: {log: silent, info: silent, debug: silent, warn: silent, error: silent},
      TextDecoder, TextEncoder, URL, performance, crypto: globalThis.crypto, queueMicrotask,
      setTimeout, clearTimeout, setInterval, clearInterval, Uint8Array, ArrayBuffer,
      location: {href: 'http://localhost/engine_bundle.js', origin: 'http://localhost', pathname: '/'},
      navigator: {}, importScripts: silent,
      // The engine fetches its module by this, and waits for it.
      XMLHttpRequest: class {
        open(_, name) { this.name = path.basename(name); }
        send() {
          this.response = new Uint8Array(fs.readFileSync(path.join(folder, this.name))).buffer;
          this.status = 200;
        }
      },
      WorkerGlobalScope: function() {},
    };
    scope.self = scope.globalThis = scope;
    vm.createContext(scope);
    vm.runInContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), scope);
    this.scope = scope;
  }

  async start() {
    this.scope.onmessage({data: this.port});
    for (let tries = 0; ; ++tries) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      try {
        if (this.port.onmessage) return this.call(Method.reset);
      } catch (error) {  // the module is not there yet
        if (tries > 500) throw error;
      }
      if (tries > 500) throw new Error('the engine does not start');
    }
  }

  /// Returns the fields of the answers.
  call(method, ...fields) {
    const body = Buffer.concat([numberField(kSequence, ++this.sequence), numberField(kRequest, method), ...fields]);
    this.port.onmessage({data: new this.scope.Uint8Array(bytesField(kStream, body))});
    const answers = [];
    for (const message of fieldsOf(Buffer.concat(this.answers.splice(0))))
      for (const answer of fieldsOf(message.value)) {
        if (answer.field === kFatal) throw new Error(text(answer.value));
        answers.push(answer);
      }
    return answers;
  }

  load(file) {
    const piece = Buffer.alloc(16 << 20), input = fs.openSync(file);
    for (let length; (length = fs.readSync(input, piece)) > 0;)
      for (const answer of this.call(Method.appendTrace, bytesField(kAppendData, piece.subarray(0, length))))
        if (answer.field === kAppendResult)
          for (const {field, value} of fieldsOf(answer.value))
            if (field === 2) throw new Error('the trace cannot be read: ' + text(value));
    this.call(Method.finalize);
  }

  query(sql) {
    const columns = [], cells = [];
    for (const answer of this.call(Method.query, bytesField(kQueryArgs, bytesField(1, Buffer.from(sql)))))
      if (answer.field === kQueryResult)
        for (const {field, value} of fieldsOf(answer.value)) {
          if (field === 1) columns.push(text(value));
          if (field === 2) throw new Error(text(value));
          if (field === 3) cells.push(...cellsOf(value));
        }
    const rows = [];
    for (let i = 0; i < cells.length; i += columns.length)
      rows.push(Object.fromEntries(columns.map((name, k) => [name, cells[i + k]])));
    return rows;
  }
}

/// A batch of cells: their types, and the values of each type in a row.
function cellsOf(batch) {
  let types = [], integers = [], reals = [], strings = [];
  const all = (bytes) => { const out = []; for (const r = new Reader(bytes); r.more();) out.push(r.varint()); return out; };
  for (const {field, value} of fieldsOf(batch)) {
    if (field === 1) types = all(value);
    if (field === 2) integers = all(value).map((n) => Number(BigInt.asIntN(64, n)));
    if (field === 3) for (let at = 0; at < value.length; at += 8) reals.push(Buffer.from(value).readDoubleLE(at));
    if (field === 5) strings = text(value).split('\0');
  }
  return types.map((type) => {
    switch (Number(type)) {
      case 2: return integers.shift();
      case 3: return reals.shift();
      case 4: return strings.shift();
      default: return null;
    }
  });
}

async function main() {
  const engine = new Engine(engineFolder);
  await engine.start();
  engine.load(traceFile);
  for (const sql of queries) console.log(JSON.stringify(engine.query(sql)));
  process.exit(0);
}
main().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
