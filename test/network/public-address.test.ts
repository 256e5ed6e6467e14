// The addresses from which pages can be fetched (G30).
import { expect, test } from 'vitest';
import { isPublicAddress } from '../../src/network/public-address.ts';

test.each([
  '1.1.1.1',
  '8.8.8.8',
  '172.15.255.255',
  '172.32.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '169.253.255.255',
  '192.167.255.255',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:81b::200e',
  '2001:4860:4860::8888',
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  ['this network', '0.0.0.0'],
  ['loopback', '127.0.0.1'],
  ['loopback', '127.255.255.254'],
  ['private', '10.0.0.1'],
  ['private', '172.16.0.1'],
  ['private', '172.31.255.255'],
  ['private', '192.168.1.1'],
  ['shared by carriers, and the metadata of Alibaba', '100.100.100.200'],
  ['link, and the metadata of most clouds', '169.254.169.254'],
  ['metadata of Azure', '168.63.129.16'],
  ['metadata of Oracle', '192.0.0.192'],
  ['documentation', '192.0.2.1'],
  ['benchmarks', '198.18.0.1'],
  ['multicast', '224.0.0.1'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['loopback', '::1'],
  ['unspecified', '::'],
  ['IPv4 in IPv6', '::ffff:127.0.0.1'],
  ['IPv4 in IPv6', '::ffff:8.8.8.8'],
  ['IPv4 in IPv6', '::ffff:a9fe:a9fe'],
  ['IPv4 in IPv6, old', '::127.0.0.1'],
  ['IPv4 behind NAT64', '64:ff9b::7f00:1'],
  ['IPv4 by 6to4', '2002:7f00:1::'],
  ['IPv4 by Teredo', '2001:0:7f00:1::'],
  ['documentation', '2001:db8::1'],
  ['documentation', '3fff::1'],
  ['unique local, and the metadata of AWS', 'fd00:ec2::254'],
  ['link', 'fe80::1'],
  ['link with its zone', 'fe80::1%lo'],
  ['global with a zone', '2606:4700:4700::1111%lo'],
  ['multicast', 'ff02::1'],
  ['no address', 'localhost'],
  ['no address', '0x7f.1'],
  ['no address', '[::1]'],
  ['no address', ''],
])('%s is not public: %s', (_what, address) => {
  expect(isPublicAddress(address)).toBe(false);
});
