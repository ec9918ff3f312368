// Loaded before a server (node --require): it then listens on loopback alone, and its clock is ours to turn.
'use strict'
const fs = require('fs')
const http = require('http')
const net = require('net')

const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (...options) {
  if (typeof options[0] === 'object' && options[0] !== null) options[0] = { ...options[0], host: '127.0.0.1' }
  else if (typeof options[1] === 'string') options[1] = '127.0.0.1'
  else options.splice(1, 0, '127.0.0.1')
  return listen.apply(this, options)
}

const RealDate = Date
function ahead () {
  try {
    return Number(fs.readFileSync(process.env.CLOCK_FILE, 'utf8')) || 0
  } catch {
    return 0
  }
}
class TurnedDate extends RealDate {
  constructor (...parts) {
    if (parts.length) super(...parts)
    else super(TurnedDate.now())
  }

  static now () {
    return RealDate.now() + ahead()
  }
}
globalThis.Date = TurnedDate

// The other way to the time of day: kinesis-local adds performance.now() to where that one began.
const began = performance.timeOrigin
Object.defineProperty(performance, 'timeOrigin', { get: () => began + ahead() })

const writeHead = http.ServerResponse.prototype.writeHead
http.ServerResponse.prototype.writeHead = function (...parts) {
  this.setHeader('Date', new TurnedDate().toUTCString())
  return writeHead.apply(this, parts)
}
