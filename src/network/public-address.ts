// Which addresses are the public internet. Everything else is internal: loopback, private networks, the link, the cloud's metadata
// services, and every way to write an IPv4 address of them as an IPv6 one. An address in no list of public addresses is refused.
import { BlockList, isIP } from 'node:net';

// RFC 6890 and what has been registered since, and the metadata address of Azure, which lies in a public range.
const INSIDE_V4: readonly [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/** Of IPv6 only this is given out to the public; of it, these carry other protocols, IPv4 addresses among them, or nothing. */
const GLOBAL_V6: readonly [string, number] = ['2000::', 3];
const INSIDE_V6: readonly [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const insideV4 = new BlockList();
const globalV6 = new BlockList();
const insideV6 = new BlockList();
for (const [network, bits] of INSIDE_V4) insideV4.addSubnet(network, bits, 'ipv4');
globalV6.addSubnet(...GLOBAL_V6, 'ipv6');
for (const [network, bits] of INSIDE_V6) insideV6.addSubnet(network, bits, 'ipv6');

/** True for a public unicast address as `dns.lookup` or a URL's host gives it, without brackets. False for what is no address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !insideV4.check(address, 'ipv4');
    case 6:
      // A zone (`fe80::1%eth0`) only makes sense on the link.
      return !address.includes('%') && globalV6.check(address, 'ipv6') && !insideV6.check(address, 'ipv6');
    default:
      return false;
  }
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** True for an address of this machine itself, 127.0.0.0/8 or ::1, as `dns.lookup` gives it. False for what is no address. */
export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && loopback.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/** True for a host that names this machine alone: a loopback address, with or without brackets, or `localhost`. */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopbackAddress(host.replace(/^\[|\]$/g, ''));
}
