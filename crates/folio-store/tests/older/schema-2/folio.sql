PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    app TEXT NOT NULL,
    undoes INTEGER,
    body TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
INSERT INTO entries VALUES(1,'default',NULL,'{"app":"default","at":"2026-11-16T02:12:46.471712369Z","by":"system","edits":[{"app":"default","edit":"create-app"},{"actor":"admin","edit":"add-token","id":"05185f2b3794","secret":"sha256:bbe538fa54cb96b75d0ac2729dd8b5c5d78fde03fbfcc4151e7930f1dae35127"}],"message":"admit admin","seq":1}',X'3581c46b94ce10123251f51fe07da8fc168e0cfdcd3e4aee220616f37692e31e');
INSERT INTO entries VALUES(2,'default',NULL,'{"app":"default","appVersion":"rbjz6","at":"2026-11-16T02:12:46.729554331Z","by":"admin","edits":[{"edit":"create-unit","key":{"app":"default","kind":"package","name":"hello-pkg"},"origin":"implied","uid":"6fa38900-6780-4385-aada-204c32dbfdfc"},{"edit":"publish","uid":"6fa38900-6780-4385-aada-204c32dbfdfc","version":{"createdAt":"2026-11-16T02:12:46.729554331Z","createdBy":"admin","description":"","id":"v1.0.0","number":1,"snapshot":"sha256:27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2"}},{"edit":"create-unit","key":{"app":"default","kind":"function","name":"hello"},"origin":"user","uid":"c49483ec-4255-4410-8d5f-0a37699dc77d"},{"edit":"publish","uid":"c49483ec-4255-4410-8d5f-0a37699dc77d","version":{"createdAt":"2026-11-16T02:12:46.729554331Z","createdBy":"admin","description":"","id":"v1.0.0","number":1,"snapshot":"sha256:e3c8844cc6071dedc4457673384016fc60574b89e11a4770ea16d744de1e2c32","uses":{"number":1,"unit":"6fa38900-6780-4385-aada-204c32dbfdfc"}}}],"message":"publish function hello as v1.0.0","seq":2}',X'7cd961d10fbb9c9358cdf306acfa54fff77bfce04f54153666b09dce3b422a61');
INSERT INTO entries VALUES(3,'default',NULL,'{"app":"default","appVersion":"mwdsz","at":"2026-11-16T02:12:46.778778115Z","by":"admin","edits":[{"edit":"publish","uid":"6fa38900-6780-4385-aada-204c32dbfdfc","version":{"createdAt":"2026-11-16T02:12:46.778778115Z","createdBy":"admin","description":"","id":"v1.0.1","number":2,"snapshot":"sha256:c3b7bf82a2d3ce61fb532951bcaaebf7d31bd99ce2fd77702de897bb517403c0"}},{"edit":"publish","uid":"c49483ec-4255-4410-8d5f-0a37699dc77d","version":{"createdAt":"2026-11-16T02:12:46.778778115Z","createdBy":"admin","description":"","id":"v1.0.1","number":2,"snapshot":"sha256:30367d3778dc626ef518cb2cf786294a3bfaee272dda3098d6602b6a53ef5ae0","uses":{"number":2,"unit":"6fa38900-6780-4385-aada-204c32dbfdfc"}}}],"message":"publish function hello as v1.0.1","seq":3}',X'c9823da0bc08c0b61033bac7e725e8bcd3189fa2e6af31906c7b8d1127243929');
INSERT INTO entries VALUES(4,'default',NULL,'{"app":"default","appVersion":"7ppm6","at":"2026-11-16T02:12:46.79065073Z","by":"admin","edits":[{"edit":"publish","uid":"6fa38900-6780-4385-aada-204c32dbfdfc","version":{"createdAt":"2026-11-16T02:12:46.79065073Z","createdBy":"admin","description":"","id":"v1.0.2","number":3,"snapshot":"sha256:27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2"}},{"edit":"publish","uid":"c49483ec-4255-4410-8d5f-0a37699dc77d","version":{"createdAt":"2026-11-16T02:12:46.79065073Z","createdBy":"admin","description":"","id":"v1.0.2","number":3,"snapshot":"sha256:e3c8844cc6071dedc4457673384016fc60574b89e11a4770ea16d744de1e2c32","uses":{"number":3,"unit":"6fa38900-6780-4385-aada-204c32dbfdfc"}}}],"message":"publish function hello as v1.0.2","seq":4}',X'd5b68da692f1acf53f10cf56354abcc209a0f4c0ffed529bd4cd996713deaace');
INSERT INTO entries VALUES(5,'default',NULL,'{"app":"default","appVersion":"m9pgx","at":"2026-11-16T02:12:46.7992229Z","by":"admin","edits":[{"edit":"delete-version","uid":"c49483ec-4255-4410-8d5f-0a37699dc77d","version":{"createdAt":"2026-11-16T02:12:46.79065073Z","createdBy":"admin","description":"","id":"v1.0.2","number":3,"snapshot":"sha256:e3c8844cc6071dedc4457673384016fc60574b89e11a4770ea16d744de1e2c32","uses":{"number":3,"unit":"6fa38900-6780-4385-aada-204c32dbfdfc"}}}],"message":"delete version v1.0.2 of function hello","seq":5}',X'436372c2b46101e3a6db81165c7d25401d1b9823884a8b0203f8a75b10561fff');
INSERT INTO entries VALUES(6,'default',NULL,'{"app":"default","appVersion":"wqdzf","at":"2026-11-16T02:12:46.869147245Z","by":"admin","edits":[{"edit":"create-unit","key":{"app":"default","kind":"package","name":"lib"},"origin":"user","uid":"2f88de75-a84b-41fd-a92a-5138b22ecd36"},{"edit":"publish","uid":"2f88de75-a84b-41fd-a92a-5138b22ecd36","version":{"createdAt":"2026-11-16T02:12:46.869147245Z","createdBy":"admin","description":"","id":"p1","number":1,"snapshot":"sha256:58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936"}}],"message":"publish package lib as p1","seq":6}',X'421f7f72a9ea00580523d97066d066336e1a82d76c64c1a015d41b94b51e37f3');
INSERT INTO entries VALUES(7,'default',NULL,'{"app":"default","appVersion":"pqg5g","at":"2026-11-16T02:12:53.044025693Z","by":"admin","edits":[{"edit":"create-unit","key":{"app":"default","kind":"function","name":"tool"},"origin":"user","uid":"6e6331b1-6269-4f26-b45d-f1a635295576"},{"edit":"publish","uid":"6e6331b1-6269-4f26-b45d-f1a635295576","version":{"createdAt":"2026-11-16T02:12:53.044025693Z","createdBy":"admin","description":"","id":"d6vtw","number":1,"snapshot":"sha256:cbfe7b60f2080fbd859c90255a1e53d236d5bf1bf668314224a69d7983b5d4c2","uses":{"number":1,"unit":"2f88de75-a84b-41fd-a92a-5138b22ecd36"}}}],"message":"publish function tool as d6vtw","seq":7}',X'59a7a3de47ef89852aed1282176a64b1759cd2e121b83673d71eef8626a05afb');
INSERT INTO entries VALUES(8,'default',NULL,'{"app":"default","appVersion":"8jqv9","at":"2026-11-16T02:12:53.120039349Z","by":"admin","edits":[{"edit":"create-unit","key":{"app":"default","kind":"package","name":"sketch-pkg"},"origin":"implied","uid":"e90a3ae9-88e5-4c74-9406-cea1f4676dcd"},{"edit":"set-draft","from":null,"to":{"snapshot":"sha256:58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936"},"uid":"e90a3ae9-88e5-4c74-9406-cea1f4676dcd"},{"edit":"create-unit","key":{"app":"default","kind":"function","name":"sketch"},"origin":"user","uid":"72310fb3-53db-426c-bb8a-1a6493c44920"},{"edit":"set-draft","from":null,"to":{"snapshot":"sha256:d2339d78d760e0c454a6ad5dd872cb7bd520ed2370cf0c2cde7438cba7cb2ac7"},"uid":"72310fb3-53db-426c-bb8a-1a6493c44920"}],"message":"create the draft of function sketch","seq":8}',X'304c164309a3eb16538c5a1e6d66af88309e40c4a2a4fba7c0fc0b4cbe52c37e');
INSERT INTO entries VALUES(9,'default',NULL,'{"app":"default","at":"2026-11-16T02:13:00.182221338Z","by":"admin","edits":[{"edit":"move","from":null,"pointer":{"alias":{"name":"prod","unit":"c49483ec-4255-4410-8d5f-0a37699dc77d"}},"to":{"versions":[{"number":1,"weight":10000}]}}],"message":"create alias prod of hello","seq":9}',X'8a587f9dd0b0de5187c6911c6388f49aa7e73d677f468094d9e816b09a769fc0');
INSERT INTO entries VALUES(10,'default',NULL,'{"app":"default","at":"2026-11-16T02:13:00.225556736Z","by":"admin","edits":[{"edit":"move","from":null,"pointer":{"tag":{"app":"default","name":"release"}},"to":{"members":{"c49483ec-4255-4410-8d5f-0a37699dc77d":2}}}],"message":"tag hello@v1.0.1 as release","seq":10}',X'09e5c43375bbb544bb73a11a0038251be3c1865d332f7643dd1b454993701a03');
INSERT INTO entries VALUES(11,'default',10,'{"app":"default","at":"2026-11-16T02:13:00.241962667Z","by":"admin","edits":[{"edit":"move","from":{"members":{"c49483ec-4255-4410-8d5f-0a37699dc77d":2}},"pointer":{"tag":{"app":"default","name":"release"}},"to":null}],"message":"undo 10: tag hello@v1.0.1 as release","seq":11,"undoes":10}',X'93659fbe9a683aa16492dc604a91177cb852ee18586e7df731bdd49099f114c7');
CREATE TABLE apps (
    name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
INSERT INTO apps VALUES('default');
CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    secret BLOB NOT NULL CHECK (length(secret) = 32),
    actor TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO tokens VALUES('05185f2b3794',X'bbe538fa54cb96b75d0ac2729dd8b5c5d78fde03fbfcc4151e7930f1dae35127','admin');
CREATE TABLE answers (
    key TEXT PRIMARY KEY,
    request BLOB NOT NULL CHECK (length(request) = 32),
    body TEXT NOT NULL,
    checksum BLOB NOT NULL CHECK (length(checksum) = 32),
    seq INTEGER NOT NULL REFERENCES entries (seq)
) STRICT, WITHOUT ROWID;
INSERT INTO answers VALUES('15eaaeee-beab-4d7a-a68b-2287c5a9011b',X'4fe8f2e39d705eec7c5ec866c17caf56296c9c8ce7759e1416a44aca29f1b537','{"version":{"app":"default","kind":"function","name":"hello","number":2,"id":"v1.0.1","digest":"sha256:30367d3778dc626ef518cb2cf786294a3bfaee272dda3098d6602b6a53ef5ae0","createdAt":"2026-11-16T02:12:46.778778115Z","createdBy":"admin","description":"","latest":true,"aliases":[],"tags":[],"package":{"name":"hello-pkg","number":2,"id":"v1.0.1"},"build":"none","spec":{"kind":"function","environment":"nodejs","package":{"name":"hello-pkg","snapshot":"sha256:c3b7bf82a2d3ce61fb532951bcaaebf7d31bd99ce2fd77702de897bb517403c0"}}},"package":{"app":"default","kind":"package","name":"hello-pkg","number":2,"id":"v1.0.1","digest":"sha256:c3b7bf82a2d3ce61fb532951bcaaebf7d31bd99ce2fd77702de897bb517403c0","createdAt":"2026-11-16T02:12:46.778778115Z","createdBy":"admin","description":"","latest":true,"aliases":[],"tags":[],"build":"none","spec":{"kind":"package","environment":"nodejs","deployment":{"tree":"sha256:ad6bea482f2fdbfb4db58ea8c1b6d0fde8ea04637ae9230a7befe1efab7f9317","layout":"file"}}},"changed":true,"appVersion":"mwdsz","entry":3}',X'1ba3789769f0e690ffe0a7376ceb0bfea67b7dab41644b28c838b2803ee0785e',3);
INSERT INTO answers VALUES('188db3dd-8d98-46d2-9c56-ce106211ae35',X'3fa66ae86759eefb508b4f96e78dd01132c16c7de166f3bd06fb49efcbeaeb97','{"app":"default","kind":"function","name":"sketch","uid":"72310fb3-53db-426c-bb8a-1a6493c44920","revision":8,"draft":{"digest":"sha256:d2339d78d760e0c454a6ad5dd872cb7bd520ed2370cf0c2cde7438cba7cb2ac7","package":{"name":"sketch-pkg"},"spec":{"kind":"function","environment":"python","package":{"name":"sketch-pkg","snapshot":"sha256:58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936"}}},"aliases":[],"changed":true,"appVersion":"8jqv9","entry":8}',X'da444bc955782cd9b8385fbaf00f958062878ba63ad9e100aaaa70f4c33d6f3e',8);
INSERT INTO answers VALUES('1e9f0763-26d1-4541-8989-db832a7e4c45',X'24306b1a7d1632376ffbbd757df212e3f880914d3ab0df53c090851a6b717324','{"function":"hello","name":"prod","targets":[{"number":1,"id":"v1.0.0","weight":10000}],"revision":9,"changed":true,"entry":9}',X'9c53db27811fa8764b526fcf6c8c5feeb59883ce7a50aa52380f34949be77867',9);
INSERT INTO answers VALUES('41e40266-db61-4611-9325-6cb7cec17c65',X'b28a05073e1041543eac07b677c329a6505d0e7cd79328664cd90dcbd64fe791','{"version":{"app":"default","kind":"function","name":"tool","number":1,"id":"d6vtw","digest":"sha256:cbfe7b60f2080fbd859c90255a1e53d236d5bf1bf668314224a69d7983b5d4c2","createdAt":"2026-11-16T02:12:53.044025693Z","createdBy":"admin","description":"","latest":true,"aliases":[],"tags":[],"package":{"name":"lib","number":1,"id":"p1"},"build":"pending","spec":{"kind":"function","environment":"python","package":{"name":"lib","snapshot":"sha256:58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936"},"entrypoint":"main.main"}},"changed":true,"appVersion":"pqg5g","entry":7}',X'd83326b939ab4a724ab69a4d53627afd20179235e3d82e43db39ce0bafa47b39',7);
INSERT INTO answers VALUES('8615ec5c-10f4-4f06-8283-dec6d44d25be',X'23e8e226a25f9c1f7e07788f49a3a102209b885fd23046d388a98cc465de83d0','{"version":{"app":"default","kind":"function","name":"hello","number":1,"id":"v1.0.0","digest":"sha256:e3c8844cc6071dedc4457673384016fc60574b89e11a4770ea16d744de1e2c32","createdAt":"2026-11-16T02:12:46.729554331Z","createdBy":"admin","description":"","latest":true,"aliases":[],"tags":[],"package":{"name":"hello-pkg","number":1,"id":"v1.0.0"},"build":"none","spec":{"kind":"function","environment":"nodejs","package":{"name":"hello-pkg","snapshot":"sha256:27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2"}}},"package":{"app":"default","kind":"package","name":"hello-pkg","number":1,"id":"v1.0.0","digest":"sha256:27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2","createdAt":"2026-11-16T02:12:46.729554331Z","createdBy":"admin","description":"","latest":true,"aliases":[],"tags":[],"build":"none","spec":{"kind":"package","environment":"nodejs","deployment":{"tree":"sha256:59a34f0e1b68939fb793fb12bf76da1553768d0904cd1ad3a62a3932012c0baf","layout":"file"}}},"changed":true,"appVersion":"rbjz6","entry":2}',X'410553766d534657b86e0db0d48922be7fe8de37f750d25d4aaa95078322fec0',2);
INSERT INTO answers VALUES('86afd78d-723a-4df4-b1c6-9eb73f59c515',X'59d4aed6f0f4c88e113ecf2c195137602768c71745d195ac783ca3ac7b056cb8','{"undone":10,"message":"tag hello@v1.0.1 as release","changed":true,"entry":11}',X'3ee175eecb4ffdb8691efc127fc65211767e33278909a3a8a770eba4d508c97c',11);
INSERT INTO answers VALUES('a0e3656c-4c11-40ac-b3fe-2485636e71fd',X'410d79a20251085195184e689bae06ccf01a9ef26695e98826b5a6620cb1ffc7','{"units":[],"versions":[{"kind":"function","name":"hello","number":3,"id":"v1.0.2"}],"aliases":[],"changed":true,"appVersion":"m9pgx","entry":5}',X'b441937e2f92e129c174dc733b9986e16999deed11033a9c5cd9f842a272b366',5);
INSERT INTO answers VALUES('c7df9a1e-bfa4-471c-92b3-8370b21c3fed',X'ad9515efe47c87ef8db494400bccf723bd7ca92bc41c29c04e17d7efb97d74b1','{"version":{"app":"default","kind":"function","name":"hello","number":3,"id":"v1.0.2","digest":"sha256:e3c8844cc6071dedc4457673384016fc60574b89e11a4770ea16d744de1e2c32","createdAt":"2026-11-16T02:12:46.79065073Z","createdBy":"admin","description":"","latest":true,"aliases":[],"tags":[],"package":{"name":"hello-pkg","number":3,"id":"v1.0.2"},"build":"none","spec":{"kind":"function","environment":"nodejs","package":{"name":"hello-pkg","snapshot":"sha256:27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2"}}},"package":{"app":"default","kind":"package","name":"hello-pkg","number":3,"id":"v1.0.2","digest":"sha256:27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2","createdAt":"2026-11-16T02:12:46.79065073Z","createdBy":"admin","description":"","latest":true,"aliases":[],"tags":[],"build":"none","spec":{"kind":"package","environment":"nodejs","deployment":{"tree":"sha256:59a34f0e1b68939fb793fb12bf76da1553768d0904cd1ad3a62a3932012c0baf","layout":"file"}}},"changed":true,"appVersion":"7ppm6","entry":4}',X'65c5aee2ced09bdbcff3f83b0fad5d129123fb190fd34b3ce2a501984afaf2c1',4);
INSERT INTO answers VALUES('d7cd9bfd-31d8-4ccd-bb7a-6e624f83bbbd',X'dd43484de5893a745026d1ef1340b4db0b1a1e2a96f05bb54c2952c992c7b178','{"app":"default","name":"release","members":[{"function":"hello","number":2,"id":"v1.0.1"}],"revision":10,"changed":true,"entry":10}',X'f0b17757360715950d5a18108e68171e247ff0891c30b5cc6a255aea07917bc6',10);
INSERT INTO answers VALUES('eb4016e4-30e7-405f-a259-503d5eaea390',X'f0c0cbb8eefab03b2d2f0a1ab981e4332c62a609d0ffc6b40e067e2ad2b31a4a','{"version":{"app":"default","kind":"package","name":"lib","number":1,"id":"p1","digest":"sha256:58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936","createdAt":"2026-11-16T02:12:46.869147245Z","createdBy":"admin","description":"","latest":true,"aliases":[],"tags":[],"build":"pending","spec":{"kind":"package","environment":"python","source":{"tree":"sha256:321f2a59ed0201ea534a12f15e0ba9c003612292c220bb9531b1f2dabbcd0b6a","layout":"directory"},"buildCommand":"./build.sh"}},"changed":true,"appVersion":"wqdzf","entry":6}',X'c36709f075ee5878b58d13b0cff82bb9dd2faa0cc40232288e1ffa66d80e1e06',6);
CREATE TABLE snapshots (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    encoding INTEGER NOT NULL CHECK (encoding = 1),
    body BLOB NOT NULL,
    pin BLOB
) STRICT, WITHOUT ROWID;
INSERT INTO snapshots VALUES(X'27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2',1,X'7b226465706c6f796d656e74223a7b226c61796f7574223a2266696c65222c2274726565223a227368613235363a35396133346630653162363839333966623739336662313262663736646131353533373638643039303463643161643361363261333933323031326330626166227d2c22656e7669726f6e6d656e74223a226e6f64656a73222c226b696e64223a227061636b616765227d',NULL);
INSERT INTO snapshots VALUES(X'30367d3778dc626ef518cb2cf786294a3bfaee272dda3098d6602b6a53ef5ae0',1,X'7b22656e7669726f6e6d656e74223a226e6f64656a73222c226b696e64223a2266756e6374696f6e222c227061636b616765223a7b226e616d65223a2268656c6c6f2d706b67222c22736e617073686f74223a227368613235363a63336237626638326132643363653631666235333239353162636161656266376433316264393963653266643737373032646538393762623531373430336330227d7d',X'c3b7bf82a2d3ce61fb532951bcaaebf7d31bd99ce2fd77702de897bb517403c0');
INSERT INTO snapshots VALUES(X'58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936',1,X'7b226275696c64436f6d6d616e64223a222e2f6275696c642e7368222c22656e7669726f6e6d656e74223a22707974686f6e222c226b696e64223a227061636b616765222c22736f75726365223a7b226c61796f7574223a226469726563746f7279222c2274726565223a227368613235363a33323166326135396564303230316561353334613132663135653062613963303033363132323932633232306262393533316231663264616262636430623661227d7d',NULL);
INSERT INTO snapshots VALUES(X'c3b7bf82a2d3ce61fb532951bcaaebf7d31bd99ce2fd77702de897bb517403c0',1,X'7b226465706c6f796d656e74223a7b226c61796f7574223a2266696c65222c2274726565223a227368613235363a61643662656134383266326664626662346462353865613863316236643066646538656130343633376165393233306137626566653165666162376639333137227d2c22656e7669726f6e6d656e74223a226e6f64656a73222c226b696e64223a227061636b616765227d',NULL);
INSERT INTO snapshots VALUES(X'cbfe7b60f2080fbd859c90255a1e53d236d5bf1bf668314224a69d7983b5d4c2',1,X'7b22656e747279706f696e74223a226d61696e2e6d61696e222c22656e7669726f6e6d656e74223a22707974686f6e222c226b696e64223a2266756e6374696f6e222c227061636b616765223a7b226e616d65223a226c6962222c22736e617073686f74223a227368613235363a35386637663765343333643038346165353564396637306261643633343834343539633161316432313531396231326463313531326364656632306339393336227d7d',X'58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936');
INSERT INTO snapshots VALUES(X'd2339d78d760e0c454a6ad5dd872cb7bd520ed2370cf0c2cde7438cba7cb2ac7',1,X'7b22656e7669726f6e6d656e74223a22707974686f6e222c226b696e64223a2266756e6374696f6e222c227061636b616765223a7b226e616d65223a22736b657463682d706b67222c22736e617073686f74223a227368613235363a35386637663765343333643038346165353564396637306261643633343834343539633161316432313531396231326463313531326364656632306339393336227d7d',X'58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936');
INSERT INTO snapshots VALUES(X'e3c8844cc6071dedc4457673384016fc60574b89e11a4770ea16d744de1e2c32',1,X'7b22656e7669726f6e6d656e74223a226e6f64656a73222c226b696e64223a2266756e6374696f6e222c227061636b616765223a7b226e616d65223a2268656c6c6f2d706b67222c22736e617073686f74223a227368613235363a32376661633064333464613834396233636134613761316635656530653964646131383062323630643233363033353032363035346137303339613335646332227d7d',X'27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2');
CREATE TABLE snapshot_trees (
    snapshot BLOB NOT NULL REFERENCES snapshots (digest),
    tree BLOB NOT NULL CHECK (length(tree) = 32),
    PRIMARY KEY (snapshot, tree)
) STRICT, WITHOUT ROWID;
INSERT INTO snapshot_trees VALUES(X'27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2',X'59a34f0e1b68939fb793fb12bf76da1553768d0904cd1ad3a62a3932012c0baf');
INSERT INTO snapshot_trees VALUES(X'58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936',X'321f2a59ed0201ea534a12f15e0ba9c003612292c220bb9531b1f2dabbcd0b6a');
INSERT INTO snapshot_trees VALUES(X'c3b7bf82a2d3ce61fb532951bcaaebf7d31bd99ce2fd77702de897bb517403c0',X'ad6bea482f2fdbfb4db58ea8c1b6d0fde8ea04637ae9230a7befe1efab7f9317');
CREATE TABLE units (
    uid BLOB PRIMARY KEY CHECK (length(uid) = 16),
    app TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    origin TEXT NOT NULL,
    next_number INTEGER NOT NULL DEFAULT 1 CHECK (next_number >= 1),
    latest INTEGER CHECK (latest < next_number),
    revision INTEGER NOT NULL,
    deleted_in INTEGER REFERENCES entries (seq)
) STRICT, WITHOUT ROWID;
INSERT INTO units VALUES(X'2f88de75a84b41fda92a5138b22ecd36','default','package','lib','user',2,1,6,NULL);
INSERT INTO units VALUES(X'6e6331b162694f26b45df1a635295576','default','function','tool','user',2,1,7,NULL);
INSERT INTO units VALUES(X'6fa3890067804385aada204c32dbfdfc','default','package','hello-pkg','implied',4,3,4,NULL);
INSERT INTO units VALUES(X'72310fb353db426cbb8a1a6493c44920','default','function','sketch','user',1,NULL,8,NULL);
INSERT INTO units VALUES(X'c49483ec425544108d5f0a37699dc77d','default','function','hello','user',4,2,9,NULL);
INSERT INTO units VALUES(X'e90a3ae988e54c749406cea1f4676dcd','default','package','sketch-pkg','implied',1,NULL,8,NULL);
CREATE TABLE drafts (
    unit BLOB PRIMARY KEY REFERENCES units (uid),
    snapshot BLOB NOT NULL REFERENCES snapshots (digest),
    uses_unit BLOB,
    uses_number INTEGER,
    archive BLOB
) STRICT, WITHOUT ROWID;
INSERT INTO drafts VALUES(X'72310fb353db426cbb8a1a6493c44920',X'd2339d78d760e0c454a6ad5dd872cb7bd520ed2370cf0c2cde7438cba7cb2ac7',NULL,NULL,NULL);
INSERT INTO drafts VALUES(X'e90a3ae988e54c749406cea1f4676dcd',X'58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936',NULL,NULL,NULL);
CREATE TABLE versions (
    unit BLOB NOT NULL REFERENCES units (uid),
    number INTEGER NOT NULL CHECK (number >= 1),
    id TEXT NOT NULL,
    snapshot BLOB NOT NULL REFERENCES snapshots (digest),
    uses_unit BLOB,
    uses_number INTEGER,
    archive BLOB,
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL,
    description TEXT NOT NULL,
    deleted_in INTEGER,
    PRIMARY KEY (unit, number)
) STRICT, WITHOUT ROWID;
INSERT INTO versions VALUES(X'2f88de75a84b41fda92a5138b22ecd36',1,'p1',X'58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936',NULL,NULL,NULL,'2026-11-16T02:12:46.869147245Z','admin','',NULL);
INSERT INTO versions VALUES(X'6e6331b162694f26b45df1a635295576',1,'d6vtw',X'cbfe7b60f2080fbd859c90255a1e53d236d5bf1bf668314224a69d7983b5d4c2',X'2f88de75a84b41fda92a5138b22ecd36',1,NULL,'2026-11-16T02:12:53.044025693Z','admin','',NULL);
INSERT INTO versions VALUES(X'6fa3890067804385aada204c32dbfdfc',1,'v1.0.0',X'27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2',NULL,NULL,NULL,'2026-11-16T02:12:46.729554331Z','admin','',NULL);
INSERT INTO versions VALUES(X'6fa3890067804385aada204c32dbfdfc',2,'v1.0.1',X'c3b7bf82a2d3ce61fb532951bcaaebf7d31bd99ce2fd77702de897bb517403c0',NULL,NULL,NULL,'2026-11-16T02:12:46.778778115Z','admin','',NULL);
INSERT INTO versions VALUES(X'6fa3890067804385aada204c32dbfdfc',3,'v1.0.2',X'27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2',NULL,NULL,NULL,'2026-11-16T02:12:46.790650730Z','admin','',NULL);
INSERT INTO versions VALUES(X'c49483ec425544108d5f0a37699dc77d',1,'v1.0.0',X'e3c8844cc6071dedc4457673384016fc60574b89e11a4770ea16d744de1e2c32',X'6fa3890067804385aada204c32dbfdfc',1,NULL,'2026-11-16T02:12:46.729554331Z','admin','',NULL);
INSERT INTO versions VALUES(X'c49483ec425544108d5f0a37699dc77d',2,'v1.0.1',X'30367d3778dc626ef518cb2cf786294a3bfaee272dda3098d6602b6a53ef5ae0',X'6fa3890067804385aada204c32dbfdfc',2,NULL,'2026-11-16T02:12:46.778778115Z','admin','',NULL);
INSERT INTO versions VALUES(X'c49483ec425544108d5f0a37699dc77d',3,'v1.0.2',X'e3c8844cc6071dedc4457673384016fc60574b89e11a4770ea16d744de1e2c32',X'6fa3890067804385aada204c32dbfdfc',3,NULL,'2026-11-16T02:12:46.790650730Z','admin','',5);
CREATE TABLE taken_ids (
    app TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (app, id)
) STRICT, WITHOUT ROWID;
INSERT INTO taken_ids VALUES('default','7ppm6');
INSERT INTO taken_ids VALUES('default','8jqv9');
INSERT INTO taken_ids VALUES('default','d6vtw');
INSERT INTO taken_ids VALUES('default','m9pgx');
INSERT INTO taken_ids VALUES('default','mwdsz');
INSERT INTO taken_ids VALUES('default','p1');
INSERT INTO taken_ids VALUES('default','pqg5g');
INSERT INTO taken_ids VALUES('default','rbjz6');
INSERT INTO taken_ids VALUES('default','v1.0.0');
INSERT INTO taken_ids VALUES('default','v1.0.1');
INSERT INTO taken_ids VALUES('default','v1.0.2');
INSERT INTO taken_ids VALUES('default','wqdzf');
CREATE TABLE pointers (
    kind TEXT NOT NULL CHECK (kind IN ('alias', 'tag')),
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    place TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (kind, owner, name)
) STRICT, WITHOUT ROWID;
INSERT INTO pointers VALUES('alias','c49483ec-4255-4410-8d5f-0a37699dc77d','prod','{"versions":[{"number":1,"weight":10000}]}',9);
CREATE TABLE pointer_targets (
    unit BLOB NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (unit, number, kind, owner, name),
    FOREIGN KEY (kind, owner, name) REFERENCES pointers (kind, owner, name),
    FOREIGN KEY (unit, number) REFERENCES versions (unit, number)
) STRICT, WITHOUT ROWID;
INSERT INTO pointer_targets VALUES(X'c49483ec425544108d5f0a37699dc77d',1,'alias','c49483ec-4255-4410-8d5f-0a37699dc77d','prod');
CREATE TABLE pointer_moves (
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    seq INTEGER NOT NULL REFERENCES entries (seq),
    PRIMARY KEY (kind, owner, name, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO pointer_moves VALUES('alias','c49483ec-4255-4410-8d5f-0a37699dc77d','prod',9);
INSERT INTO pointer_moves VALUES('tag','default','release',10);
INSERT INTO pointer_moves VALUES('tag','default','release',11);
CREATE TABLE app_versions (
    app TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (number >= 1),
    id TEXT NOT NULL,
    parent TEXT,
    seq INTEGER NOT NULL UNIQUE REFERENCES entries (seq),
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    message TEXT NOT NULL,
    git TEXT,
    placed BLOB NOT NULL CHECK (length(placed) = 32),
    PRIMARY KEY (app, number)
) STRICT, WITHOUT ROWID;
INSERT INTO app_versions VALUES('default',1,'rbjz6',NULL,2,'2026-11-16T02:12:46.729554331Z','admin','publish function hello as v1.0.0',NULL,X'32c8f93a9cb9d4d3d6a7f98ea7408e026afb37d4e605fdb36b5bd08b27ec6e68');
INSERT INTO app_versions VALUES('default',2,'mwdsz','rbjz6',3,'2026-11-16T02:12:46.778778115Z','admin','publish function hello as v1.0.1',NULL,X'97610afedf23d6e0b76c2167ac13825dfa27153eee3bfd9f2710da52b02ed451');
INSERT INTO app_versions VALUES('default',3,'7ppm6','mwdsz',4,'2026-11-16T02:12:46.790650730Z','admin','publish function hello as v1.0.2',NULL,X'51995332d1350c643da0aad1f7d14cf75f2059f3b3d801f18b98789cb67dd394');
INSERT INTO app_versions VALUES('default',4,'m9pgx','7ppm6',5,'2026-11-16T02:12:46.799222900Z','admin','delete version v1.0.2 of function hello',NULL,X'7d33ab65f6526a412482043b1f487c9a5dfeee03e2c06c27a79cf28fb80c59a6');
INSERT INTO app_versions VALUES('default',5,'wqdzf','m9pgx',6,'2026-11-16T02:12:46.869147245Z','admin','publish package lib as p1',NULL,X'78eec56c0dd37c03ae3afc3f1c6a9cd3f73075942a77a42fa5f42f1b2f458514');
INSERT INTO app_versions VALUES('default',6,'pqg5g','wqdzf',7,'2026-11-16T02:12:53.044025693Z','admin','publish function tool as d6vtw',NULL,X'37be2ad0521977d633bf93b4b16aee9a77e013227b550017a91278f461403d4d');
INSERT INTO app_versions VALUES('default',7,'8jqv9','pqg5g',8,'2026-11-16T02:12:53.120039349Z','admin','create the draft of function sketch',NULL,X'e3fa67e8ee24cda087b684dab0a686acd6a6d6c81b62bff6e2f2f0040360433e');
CREATE TABLE placements (
    unit BLOB NOT NULL REFERENCES units (uid),
    since INTEGER NOT NULL CHECK (since >= 1),
    until INTEGER CHECK (until > since),
    latest_number INTEGER,
    latest_id TEXT,
    latest_snapshot BLOB REFERENCES snapshots (digest),
    draft BLOB REFERENCES snapshots (digest),
    PRIMARY KEY (unit, since)
) STRICT, WITHOUT ROWID;
INSERT INTO placements VALUES(X'2f88de75a84b41fda92a5138b22ecd36',5,NULL,1,'p1',X'58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936',NULL);
INSERT INTO placements VALUES(X'6e6331b162694f26b45df1a635295576',6,NULL,1,'d6vtw',X'cbfe7b60f2080fbd859c90255a1e53d236d5bf1bf668314224a69d7983b5d4c2',NULL);
INSERT INTO placements VALUES(X'6fa3890067804385aada204c32dbfdfc',1,2,1,'v1.0.0',X'27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2',NULL);
INSERT INTO placements VALUES(X'6fa3890067804385aada204c32dbfdfc',2,3,2,'v1.0.1',X'c3b7bf82a2d3ce61fb532951bcaaebf7d31bd99ce2fd77702de897bb517403c0',NULL);
INSERT INTO placements VALUES(X'6fa3890067804385aada204c32dbfdfc',3,NULL,3,'v1.0.2',X'27fac0d34da849b3ca4a7a1f5ee0e9dda180b260d236035026054a7039a35dc2',NULL);
INSERT INTO placements VALUES(X'72310fb353db426cbb8a1a6493c44920',7,NULL,NULL,NULL,NULL,X'd2339d78d760e0c454a6ad5dd872cb7bd520ed2370cf0c2cde7438cba7cb2ac7');
INSERT INTO placements VALUES(X'c49483ec425544108d5f0a37699dc77d',1,2,1,'v1.0.0',X'e3c8844cc6071dedc4457673384016fc60574b89e11a4770ea16d744de1e2c32',NULL);
INSERT INTO placements VALUES(X'c49483ec425544108d5f0a37699dc77d',2,3,2,'v1.0.1',X'30367d3778dc626ef518cb2cf786294a3bfaee272dda3098d6602b6a53ef5ae0',NULL);
INSERT INTO placements VALUES(X'c49483ec425544108d5f0a37699dc77d',3,4,3,'v1.0.2',X'e3c8844cc6071dedc4457673384016fc60574b89e11a4770ea16d744de1e2c32',NULL);
INSERT INTO placements VALUES(X'c49483ec425544108d5f0a37699dc77d',4,NULL,2,'v1.0.1',X'30367d3778dc626ef518cb2cf786294a3bfaee272dda3098d6602b6a53ef5ae0',NULL);
INSERT INTO placements VALUES(X'e90a3ae988e54c749406cea1f4676dcd',7,NULL,NULL,NULL,NULL,X'58f7f7e433d084ae55d9f70bad63484459c1a1d21519b12dc1512cdef20c9936');
CREATE TABLE blob_meta (
    key   TEXT PRIMARY KEY NOT NULL,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO blob_meta VALUES('grace_ms',86400000);
INSERT INTO blob_meta VALUES('touched',1794795166819);
CREATE TABLE packs (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT NOT NULL UNIQUE,
    bytes     INTEGER NOT NULL,
    raw_bytes INTEGER NOT NULL
) STRICT;
INSERT INTO packs VALUES(1,'packs/e4/e4e99bb96d3be0c9dda48f57c71a611d',288,156);
INSERT INTO packs VALUES(2,'packs/5e/5ee475836f6c63073c964dbf12911c98',286,156);
INSERT INTO packs VALUES(3,'packs/c2/c278f791b8b65d222b2eb1dd93e44c4b',372,277);
CREATE TABLE blobs (
    digest      BLOB PRIMARY KEY NOT NULL CHECK (length(digest) = 32),
    kind        INTEGER NOT NULL,
    pack        INTEGER NOT NULL,
    block_at    INTEGER NOT NULL,
    block_bytes INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    files_total INTEGER NOT NULL,
    bytes_total INTEGER NOT NULL,
    checksum    BLOB,
    touched     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO blobs VALUES(X'21e4b4c5c02c3fb5a4c9c5e63717910252e535d1c94c9718202ed1a3b233bda5',0,1,133,34,0,29,1,29,NULL,1794795166692);
INSERT INTO blobs VALUES(X'321f2a59ed0201ea534a12f15e0ba9c003612292c220bb9531b1f2dabbcd0b6a',2,3,8,187,0,262,2,15,NULL,1794795166819);
INSERT INTO blobs VALUES(X'59a34f0e1b68939fb793fb12bf76da1553768d0904cd1ad3a62a3932012c0baf',2,1,8,125,0,127,1,29,NULL,1794795166799);
INSERT INTO blobs VALUES(X'76f8bae45e807865955344c1a58882d38c8ceb4f855f58091642b7d48290af97',0,3,195,20,9,6,1,6,NULL,1794795166819);
INSERT INTO blobs VALUES(X'ad6bea482f2fdbfb4db58ea8c1b6d0fde8ea04637ae9230a7befe1efab7f9317',2,2,8,123,0,127,1,29,NULL,1794795166742);
INSERT INTO blobs VALUES(X'cc42155088fca5730758db72b2a5bca33112a941dfaa2d43098ec422ce4ea213',0,3,195,20,0,9,1,9,NULL,1794795166819);
INSERT INTO blobs VALUES(X'f0627edbc269ec626d0adde3a68ac0772eeef037cdcbd587936c86f271e8d320',0,2,131,34,0,29,1,29,NULL,1794795166742);
CREATE TABLE unpacked (
    archive BLOB PRIMARY KEY NOT NULL,
    tree    BLOB NOT NULL
) STRICT, WITHOUT ROWID;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('packs',3);
CREATE INDEX entries_of_app ON entries (app, seq);
CREATE INDEX entries_undoing ON entries (undoes, seq) WHERE undoes IS NOT NULL;
CREATE TRIGGER entries_are_never_altered BEFORE UPDATE ON entries
BEGIN
    SELECT RAISE(ABORT, 'an entry is never altered');
END;
CREATE TRIGGER entries_are_never_removed BEFORE DELETE ON entries
BEGIN
    SELECT RAISE(ABORT, 'an entry is never removed');
END;
CREATE UNIQUE INDEX units_living ON units (app, kind, name) WHERE deleted_in IS NULL;
CREATE INDEX units_of_app ON units (app, uid);
CREATE INDEX drafts_using ON drafts (uses_unit, uses_number) WHERE uses_unit IS NOT NULL;
CREATE UNIQUE INDEX versions_by_id ON versions (unit, id);
CREATE INDEX versions_surviving ON versions (unit, number) WHERE deleted_in IS NULL;
CREATE INDEX versions_using ON versions (uses_unit, uses_number, unit, number)
WHERE deleted_in IS NULL AND uses_unit IS NOT NULL;
CREATE INDEX pointer_targets_by_pointer ON pointer_targets (kind, owner, name);
CREATE UNIQUE INDEX app_versions_by_id ON app_versions (app, id);
CREATE INDEX app_versions_by_time ON app_versions (app, at, number);
CREATE UNIQUE INDEX placements_standing ON placements (unit) WHERE until IS NULL;
CREATE INDEX unpacked_tree ON unpacked (tree);
COMMIT;
PRAGMA user_version=2;
