// Flags of `fairlead apiserver`: how they are read, and what is refused before anything starts.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { caCertificate, clientKey, serverCertificate } from '../../../../test/support/certificates.ts'
import { parseFlags } from '../../src/apiserver/flags.ts'
import { runApiserver } from '../../src/apiserver/main.ts'
import { readTokens } from '../../src/apiserver/token-file.ts'
import { withFolder } from '../support/command.ts'

test('flags are read as Go programs read them', () => {
  const flags = [
    { name: 'port', value: 'n', description: '' },
    { name: 'quick', description: '' },
  ]
  const line = [
    '--port=1',
    '--port',
    '2',
    '-port',
    '3',
    '--quick',
    '--quick=false',
    '--other',
    'x',
    '--more=y',
    '-v',
    '2',
    '--last',
  ]
  expect(parseFlags(line, flags)).toEqual({
    values: new Map([
      ['port', ['1', '2', '3']],
      ['quick', ['true', 'false']],
    ]),
    unknown: ['other', 'more', 'v', 'last'],
    incomplete: undefined,
    argument: undefined,
  })
  expect(parseFlags(['here', '--port'], flags)).toMatchObject({ argument: 'here', incomplete: 'port' })
})

test('a token file has users with and without groups', () => {
  expect(readTokens('a,alice,1,"devs,ops"\nb,bob,2\n\n"c,""d",carol,3,one\n')).toEqual([
    { token: 'a', user: { name: 'alice', uid: '1', groups: ['devs', 'ops'] } },
    { token: 'b', user: { name: 'bob', uid: '2', groups: [] } },
    { token: 'c,"d', user: { name: 'carol', uid: '3', groups: ['one'] } },
  ])
  expect(() => readTokens('a,alice,1\nb,bob\n')).toThrow('line 2 has less than three columns')
})

test.each([
  [
    ['--secure-port', 'https'],
    '--secure-port https is not a port: write a number from 0 to 65535 (0 takes any free one)',
  ],
  [['--bind-address', 'localhost'], '--bind-address localhost is not an IP address: write one such as 127.0.0.1'],
  [
    ['--authorization-mode=RBAC,Webhook'],
    '--authorization-mode Webhook is not there: write RBAC, Node,RBAC or AlwaysAllow',
  ],
  [
    ['--authorization-mode=Node'],
    '--authorization-mode Node alone would refuse everything but kubelets: write Node,RBAC',
  ],
  [['--controllers', 'some'], '--controllers some: write crd, all or none'],
  [['--anonymous-auth=perhaps'], '--anonymous-auth=perhaps: write true or false'],
  [['--secure-port'], '--secure-port needs a value: write --secure-port=VALUE'],
  [['start'], 'unexpected argument start: every option is a flag'],
  [['--tls-cert-file=x'], '--tls-cert-file and --tls-private-key-file belong together: name both, or neither'],
  [
    ['--client-ca-file=/nowhere'],
    "--client-ca-file /nowhere cannot be read: ENOENT: no such file or directory, open '/nowhere'",
  ],
])('%j is refused', async (args, message) => {
  await expect(runApiserver(args, 'program')).rejects.toThrow(
    expect.objectContaining({ message, exitCode: 2 }) as Error,
  )
})

test('files with other contents than they should have are refused with the names of flag and file', () =>
  withFolder(async (folder) => {
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const [text, certificate, key] = [file('text', 'hello'), file('crt', serverCertificate), file('key', clientKey)]
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [['--client-ca-file', text], /^--client-ca-file .*text: /],
      [['--service-account-key-file', text], /^--service-account-key-file .*text: it holds no PEM block/],
      [['--service-account-signing-key-file', file('ca', caCertificate)], /^--service-account-signing-key-file .*ca: /],
      [['--token-auth-file', text], /^--token-auth-file .*text: line 1 has less than three columns/],
      [
        ['--tls-cert-file', certificate, '--tls-private-key-file', key],
        /crt: the private key does not match the certificate$/,
      ],
      [['--audit-log-path', folder], /^--audit-log-path .* cannot be written: /],
    ]
    for (const [args, message] of cases)
      await expect(runApiserver(['--secure-port=0', ...args], 'program')).rejects.toThrow(message)
  }))
