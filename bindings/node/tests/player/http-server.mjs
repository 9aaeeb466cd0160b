export const HTTP_SERVER_VERBS=[]; export class SiteStage {}; export class Site {}
