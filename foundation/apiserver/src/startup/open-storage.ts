// Opens the storage of a server, with the certificates that are stored beside it.
import type { Clock } from '@fairlead/kube'
import { adminCertificate, loadCertificates, makeCertificates } from '../auth/certificates.ts'
import type { CertificateOptions, Certificates, KeyPair } from '../auth/certificates.ts'
import type { Storage } from '../storage/storage.ts'
import type { Store } from '../storage/store.ts'
import { runsController } from './options.ts'
import type { ApiServerOptions } from './options.ts'

/** An open storage. */
export interface OpenStorage {
  readonly store: Store
  /** The data folder; undefined for memory. */
  readonly folder: string | undefined
  /** Returns the certificates of the server, created on first use and stored in the data folder. */
  readonly certificates: () => Promise<Certificates>
  /** Returns the client certificate of the administrator, likewise. */
  readonly adminCertificate: () => Promise<KeyPair>
}

/**
 * Opens a storage. The journal opens in a thread of its own; until it has, this thread creates certificates and loads
 * modules for the controllers.
 * @throws StoreError
 */
export async function openStorage(
  storage: Storage | Store,
  options: ApiServerOptions,
  clock: Clock,
): Promise<OpenStorage> {
  const opening = 'open' in storage ? storage.open({ clock }) : Promise.resolve(storage)
  const folder = 'open' in storage ? storage.folder : undefined
  const certificates = lazyCertificates(folder, { clock, hosts: options.certificateHosts ?? [] }, opening)
  // Later callers get the error.
  if (runsController(options, 'service-account')) certificates().catch(() => undefined)
  const [store] = await Promise.all([opening, options.controllers === false ? undefined : import('prom-client')])
  let admin: Promise<KeyPair> | undefined
  const ofAdmin = async (): Promise<KeyPair> => adminCertificate((await certificates()).ca, { clock }, folder)
  return { store, folder, certificates, adminCertificate: () => (admin ??= ofAdmin()) }
}

function lazyCertificates(
  folder: string | undefined,
  options: CertificateOptions,
  opened: Promise<Store>,
): () => Promise<Certificates> {
  let certificates: Promise<Certificates> | undefined
  return () =>
    (certificates ??= folder === undefined ? makeCertificates(options) : loadCertificates(folder, options, opened))
}
