// Loaded before the suite: its mock servers would listen on all interfaces.
"use strict";

const dns = require("node:dns");
const net = require("node:net");

const HOST = "127.0.0.1";
const { listen } = net.Server.prototype;
const { lookup } = dns;

// The suite asks a server for its port right after `listen`. Without a host Node binds at once; with one it looks the
// host up first. This one needs no looking up.
dns.lookup = function (hostname, ...rest) {
  const callback = rest[rest.length - 1];
  if (hostname === HOST && typeof callback === "function") {
    return rest[0]?.all === true ? callback(null, [{ address: HOST, family: 4 }]) : callback(null, HOST, 4);
  }
  return lookup.call(this, hostname, ...rest);
};

net.Server.prototype.listen = function (first, ...rest) {
  if (typeof first === "number" || (typeof first === "string" && /^\d+$/.test(first))) {
    // listen(port, host?, backlog?, callback?)
    if (typeof rest[0] === "string") rest[0] = HOST;
    else rest.unshift(HOST);
    return listen.call(this, first, ...rest);
  }
  if (first !== null && typeof first === "object" && "port" in first) {
    return listen.call(this, { ...first, host: HOST }, ...rest);
  }
  if (typeof first === "function" || first === undefined) {
    return listen.call(this, { port: 0, host: HOST }, ...(first ? [first] : []), ...rest);
  }
  // A path or a handle is no network address.
  return listen.call(this, first, ...rest);
};
