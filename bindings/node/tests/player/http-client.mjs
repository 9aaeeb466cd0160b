export const HTTP_CLIENT_VERBS=[]; export class HttpClientStage {}
