// Which addresses are the public internet. Everything else is internal: loopback, private networks,
// the link, the cloud's metadata services, and every way to write an IPv4 address of them as an
// IPv6 one. The special ranges are those of `ipaddr.js`.
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The metadata address of Azure lies in a public range. */
const AZURE_METADATA = '168.63.129.16';

/** The only range of IPv6 with public addresses. */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * True for a public unicast address as `dns.lookup` or a URL's host gives it, without brackets.
 * False for any other text.
 */
export function isPublicAddress(address: string): boolean {
  // The library also reads `0x7f.1`. A zone (`fe80::1%eth0`) only makes sense on the link.
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast' || address === AZURE_METADATA) return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_V6);
}

/**
 * True for an address of this machine itself, 127.0.0.0/8 or ::1, as `dns.lookup` gives it. False
 * for any other text.
 */
export function isLoopbackAddress(address: string): boolean {
  return isIP(address) !== 0 && ipaddr.process(address).range() === 'loopback';
}

/**
 * True for a host that names this machine alone: a loopback address, with or without brackets, or
 * `localhost`.
 */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopbackAddress(host.replace(/^\[|\]$/g, ''));
}
