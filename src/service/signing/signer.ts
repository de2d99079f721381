/** A request as the signer receives it. Path and query are those on the wire; `body` is '' without a body. */
export type RequestToSign = Readonly<{
  method: 'GET' | 'POST';
  url: URL;
  /** The full pathname, including the base path. */
  path: string;
  /** Names and values before encoding, in the order of the wire. */
  query: ReadonlyArray<[string, string]>;
  /** The query string exactly as sent, without the question mark. */
  rawQuery: string;
  /** The body exactly as sent. */
  body: string;
  /** Fields of the body; undefined without a body. */
  json: Readonly<Record<string, unknown>> | undefined;
  nonce: string;
}>;

/** The value of BIZ-API-SIGNATURE. `nonce` replaces the given one; `headers` are sent in addition. */
type Signature = { signature: string; nonce?: string; headers?: Record<string, string> };

/** An answer as received, before parsing. */
export type AnswerToVerify = Readonly<{ status: number; headers: Headers; rawBody: string }>;

/** Steps of a recipe's signature, for an operator who compares them with the service's own tools. */
type SigningDescription = {
  stringToSign: string;
  /** Hex text that the key signs, after the recipe's own hashing; null for a shared secret. */
  digestHex: string | null;
  publicKey: string | null;
};

/** Signer of requests with the three headers of docs/wallet-service-api.md, section 5. */
export type Signer = {
  /** The value of BIZ-API-KEY. */
  apiKey: string;
  /** Public key in one form for all recipes of a private key. If it is absent, only `apiKey` distinguishes the keys. */
  publicKey?: string;
  /** Signs one attempt; every attempt is signed again. */
  sign(request: RequestToSign): Promise<Signature> | Signature;
  /** Throws if the answer does not come from the service. Absent if answers are not signed. */
  verifyResponse?(answer: AnswerToVerify): Promise<void> | void;
  /** Describes the signature; absent for a signer module of the user. */
  describe?(request: RequestToSign): SigningDescription;
};
